{{- define "ostinato.labels" }}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: ostinato
{{- end }}

{{- /* The reference of an image: .name (ostinato, temporal or command), .image (the values), .Chart. */ -}}
{{- define "ostinato.image" -}}
{{- with .image.registry }}{{ . }}/{{ end }}{{ index .image.repositories .name }}
{{- with index .image.digests .name }}@{{ . }}{{ else }}:{{ .image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "ostinato.podSecurityContext" }}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ . }}
runAsGroup: {{ . }}
{{- if $.fsGroup }}
fsGroup: {{ . }}
{{- end }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "ostinato.securityContext" }}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "ostinato.probes" }}
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  periodSeconds: 10
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 5
  timeoutSeconds: 4
{{- end }}

{{- define "ostinato.takeover" -}}
{{- if .Values.takeover.cronJobs }}cronjobs{{ end }}{{ if and .Values.takeover.cronJobs .Values.takeover.jobs }},{{ end }}{{ if .Values.takeover.jobs }}jobs{{ end }}
{{- end }}

{{- /* Where a program's Pods run, by its values. */ -}}
{{- define "ostinato.placement" }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- /* How many: two don't make up for a Temporal that is one process. */ -}}
{{- define "ostinato.replicas" -}}
{{- if not (kindIs "invalid" .own.replicas) }}{{ .own.replicas }}{{ else if .Values.temporal.address }}2{{ else }}1{{ end }}
{{- end }}

{{- /* Whether the chart's own Temporal asks the API server who may call it: empty for no. */ -}}
{{- define "ostinato.guarded" -}}
{{- if and (not .Values.temporal.address) (eq (.Values.temporal.embedded.access | default "kubernetes") "kubernetes") }}yes{{ end }}
{{- end }}

{{- /* What worker and bridge have in common: .program is its name, .own its values, .env its further variables. */ -}}
{{- define "ostinato.deployment" }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ostinato-{{ .program }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "ostinato.labels" (dict "name" (print "ostinato-" .program)) | indent 4 }}
spec:
  replicas: {{ include "ostinato.replicas" . }}
  selector:
    matchLabels:
      app.kubernetes.io/name: ostinato-{{ .program }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: ostinato-{{ .program }}
        {{- with .own.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        # Pods read the settings at their start.
        checksum/settings: {{ print (include "ostinato.settings" .) .Values.namespaces | sha256sum }}
        prometheus.io/scrape: "true"
        prometheus.io/port: "8080"
        {{- if .Values.metrics.authentication }}
        prometheus.io/scheme: https
        {{- end }}
        {{- with .own.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: ostinato-{{ .program }}
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- if not .Values.temporal.address }}
      # Without links, Temporal's Service is no variable that looks like a flag's.
      enableServiceLinks: false
      {{- end }}
      terminationGracePeriodSeconds: 45
      securityContext:
        {{- include "ostinato.podSecurityContext" (dict "Values" .Values "fsGroup" .Values.payloadEncryption.enabled) | indent 8 }}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: ostinato-{{ .program }}
      {{- include "ostinato.placement" .own | indent 6 }}
      containers:
      - name: {{ .program }}
        image: {{ include "ostinato.image" (dict "image" .Values.image "name" "ostinato" "Chart" .Chart) }}
        {{- with .Values.image.pullPolicy }}
        imagePullPolicy: {{ . }}
        {{- end }}
        command: [/{{ .program }}]
        envFrom:
        - configMapRef:
            name: ostinato-temporal
        - secretRef:
            name: ostinato-temporal
            optional: true
        env:
        - name: OSTINATO_LOG_FORMAT
          value: json
        {{- with .env }}
        {{- . | nindent 8 }}
        {{- end }}
        - name: GOMEMLIMIT
          value: {{ .own.goMemoryLimit }}
        {{- if .Values.namespaces }}
        - name: OSTINATO_NAMESPACES
          valueFrom:
            configMapKeyRef:
              name: ostinato-namespaces
              key: namespaces
        {{- end }}
        {{- with include "ostinato.takeover" . }}
        - name: OSTINATO_TAKEOVER
          value: {{ . }}
        {{- end }}
        {{- if .Values.metrics.authentication }}
        - name: OSTINATO_METRICS_AUTHENTICATION
          value: "true"
        {{- end }}
        {{- if .Values.payloadEncryption.enabled }}
        - name: OSTINATO_PAYLOAD_KEYS
          value: /etc/ostinato/payload-keys
        {{- end }}
        {{- with .own.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        ports:
        - name: metrics
          containerPort: 8080
        - name: health
          containerPort: 8081
        {{- include "ostinato.probes" . | indent 8 }}
        resources:
          {{- toYaml .own.resources | nindent 10 }}
        securityContext:
          {{- include "ostinato.securityContext" . | indent 10 }}
        {{- $guarded := include "ostinato.guarded" . }}
        {{- if or $guarded .Values.payloadEncryption.enabled .own.extraVolumeMounts }}
        volumeMounts:
        {{- if $guarded }}
        - name: temporal
          mountPath: /var/run/secrets/ostinato.dev/temporal
          readOnly: true
        {{- end }}
        {{- if .Values.payloadEncryption.enabled }}
        {{- include "ostinato.payloadKeysMount" . | indent 8 }}
        {{- end }}
        {{- with .own.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- end }}
      {{- if or $guarded .Values.payloadEncryption.enabled .own.extraVolumes }}
      volumes:
      {{- if $guarded }}
      # Temporal makes the Secret at its first start; until then the container waits for it.
      - name: temporal
        secret:
          secretName: ostinato-temporal-{{ .program }}
      {{- end }}
      {{- if .Values.payloadEncryption.enabled }}
      {{- include "ostinato.payloadKeysVolume" . | indent 6 }}
      {{- end }}
      {{- with .own.extraVolumes }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- end }}
{{- end }}

{{- define "ostinato.payloadKeysMount" }}
- name: payload-keys
  mountPath: /etc/ostinato/payload-keys
  readOnly: true
{{- end }}

{{- define "ostinato.payloadKeysVolume" }}
- name: payload-keys
  secret:
    secretName: ostinato-payload-keys
    defaultMode: 0440
{{- end }}

{{- /* How worker and bridge reach Temporal, and what they and the codec server are told besides. */ -}}
{{- define "ostinato.settings" }}
{{- if not .Values.temporal.address }}
{{- range $name, $_ := .Values.temporal.env }}
{{- if or (hasPrefix "TEMPORAL_TLS" $name) (eq $name "TEMPORAL_API_KEY") }}{{ fail (print "temporal.env." $name ": the chart's own Temporal has its own TLS and no keys; name another by temporal.address, or leave it out") }}{{ end }}
{{- end }}
{{- end }}
TEMPORAL_ADDRESS: {{ .Values.temporal.address | default "ostinato-temporal:7233" | quote }}
TEMPORAL_NAMESPACE: {{ .Values.temporal.namespace | quote }}
{{- if include "ostinato.guarded" . }}
# Paths are those of worker and bridge, which read the files anew for each connection.
TEMPORAL_TLS: "true"
TEMPORAL_TLS_SERVER_NAME: ostinato-temporal
TEMPORAL_TLS_SERVER_CA_CERT_PATH: /var/run/secrets/ostinato.dev/temporal/ca.crt
TEMPORAL_TLS_CLIENT_CERT_PATH: /var/run/secrets/ostinato.dev/temporal/tls.crt
TEMPORAL_TLS_CLIENT_KEY_PATH: /var/run/secrets/ostinato.dev/temporal/tls.key
{{- end }}
{{- with .Values.payloadEncryption.key }}
OSTINATO_PAYLOAD_ENCRYPTION_KEY: {{ . | quote }}
{{- end }}
{{- with .Values.codecServer.origins }}
OSTINATO_UI_ORIGINS: {{ . | quote }}
{{- end }}
{{- range $name, $value := .Values.temporal.env }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* What Pods of the command have in common. */ -}}
{{- define "ostinato.commandPod" }}
restartPolicy: Never
securityContext:
  {{- include "ostinato.podSecurityContext" . | indent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}
