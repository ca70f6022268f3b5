package batch

// MostLinks is mostLinks, for tests.
const MostLinks = mostLinks
