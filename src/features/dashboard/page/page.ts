document.title = "edge";
