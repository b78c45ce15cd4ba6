package main

func main() { println("there") }
