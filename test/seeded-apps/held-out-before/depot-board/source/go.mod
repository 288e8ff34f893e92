module depotboard

go 1.19
