module edge.test/origin

go 1.24
