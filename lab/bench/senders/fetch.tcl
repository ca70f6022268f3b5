package require uri
puts -nonewline [uri::geturl [lindex $argv 0]]
