// Package losetimers takes timers out of the database of a Temporal server that does not run, to see who notices.
package losetimers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	enumsspb "go.temporal.io/server/api/enums/v1"
	serverpersistence "go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
)

// timerTask is the key of a task that the server carries out at its time.
type timerTask struct {
	shard, id int64
	at        any
}

// Of deletes the tasks that would fire the timers of a workflow, while its state goes on saying that they run:
// nothing fires them any more. It is an error when there are none. data is the data directory of the server.
func Of(ctx context.Context, data, workflowID string) (err error) {
	path := url.URL{Path: filepath.Join(data, "databases", "executions.db")}
	// The layout of times is the one in which the server writes them.
	db, err := sql.Open(sqlite.PluginName, "file:"+path.EscapedPath()+"?mode=rw&_time_format=sqlite")
	if err != nil {
		return fmt.Errorf("open the server's database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tasks, err := timersOf(ctx, db, workflowID)
	if err != nil {
		return fmt.Errorf("lose the timers of workflow %s: %w", workflowID, err)
	}
	if len(tasks) == 0 {
		return fmt.Errorf("lose the timers of workflow %s: it has none", workflowID)
	}
	for _, task := range tasks {
		_, err := db.ExecContext(ctx, "DELETE FROM timer_tasks WHERE shard_id = ? AND visibility_timestamp = ? AND task_id = ?", task.shard, task.at, task.id)
		if err != nil {
			return fmt.Errorf("lose a timer of workflow %s: %w", workflowID, err)
		}
	}
	left, err := timersOf(ctx, db, workflowID)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d of %d are left", len(left), len(tasks))
	}
	if err != nil {
		return fmt.Errorf("lose the timers of workflow %s: %w", workflowID, err)
	}
	return nil
}

func timersOf(ctx context.Context, db *sql.DB, workflowID string) (_ []timerTask, err error) {
	rows, err := db.QueryContext(ctx, "SELECT shard_id, visibility_timestamp, task_id, data, data_encoding FROM timer_tasks")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var tasks []timerTask
	for rows.Next() {
		var task timerTask
		var data []byte
		var encoding string
		if err := rows.Scan(&task.shard, &task.at, &task.id, &data, &encoding); err != nil {
			return nil, err
		}
		info, err := serialization.NewSerializer().TimerTaskInfoFromBlob(serverpersistence.NewDataBlob(data, encoding))
		if err != nil {
			return nil, err
		}
		if info.GetWorkflowId() == workflowID && info.GetTaskType() == enumsspb.TASK_TYPE_USER_TIMER {
			tasks = append(tasks, task)
		}
	}
	return tasks, rows.Err()
}
