module greenhouse

go 1.23
