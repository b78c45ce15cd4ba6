module example.com/source

go 1.26
