module nightbus

go 1.23
