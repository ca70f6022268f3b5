package ftpexec

// Belongs is belongs, for the tests outside this package.
var Belongs = belongs
