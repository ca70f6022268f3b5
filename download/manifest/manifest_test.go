package manifest

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/urlparse"
)

const (
	md5a      = "0e29c053bcd31072c8bed9eddece1cec"
	md5b      = "5d848b65379c195fe158a5d7324b4a18"
	sha256abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
)

// show returns what reading yields, a line for each item or error.
func show(text string, o Options) string {
	var b strings.Builder
	for item, err := range Read(strings.NewReader(text), o) {
		if err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		fmt.Fprintln(&b, showItem(item))
	}
	return b.String()
}

func showItem(item Item) string {
	s := fmt.Sprint(item.Line, " ", item.Path)
	for _, u := range item.URLs {
		s += " " + u.Redacted()
	}
	if item.Size != nil {
		s += fmt.Sprint(" ", *item.Size)
	}
	if item.Sum.Algorithm != "" {
		s += " " + item.Sum.String()
	}
	return s
}

func gzipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

var genomes = &urlparse.URL{Scheme: urlparse.FTP, Host: "h", Dirs: []string{"genomes", "x"}}

// readTests has a list in each form, and what it names.
var readTests = []struct {
	name string
	o    Options
	text string
	want string
}{
	{"list", Options{}, "ftp://h/a\nftps://h/b", "1 a ftp://h/a\n2 b ftps://h/b\n"},
	{"list with all that does not count", Options{}, "\ufeff# my files\r\n\r\n  FTP://h/a \t\r\n \t\n#ftp://h/no\nURL:ftp://u:secret@h/b;type=a\n",
		"3 a ftp://h/a\n6 b ftp://u:***@h/b;type=a\n"},
	{"list with encoded octets", Options{}, "ftp://h/d/a%23b%20c\n", "1 a#b c ftp://h/d/a%23b%20c\n"},
	{"list with directories kept", Options{KeepDirs: true}, "ftp://h/d/e/f\n", "1 d/e/f ftp://h/d/e/f\n"},
	{"text", Options{}, "See <URL:ftp://h/pub/rfc-\n   index.txt>, <ftp://h/x#\n", "1 rfc-index.txt ftp://h/pub/rfc-index.txt\n" +
		"line 2: ftp://h/x#: column 11: the URL is not closed by >; write <URL:ftp://h/x#>\n"},
	{"text, several on a line", Options{}, "<ftp://h/a> and <URL:ftp://h/b>, also ftp://h/c.", "1 a ftp://h/a\n1 b ftp://h/b\n1 c ftp://h/c\n"},
	{"a port of another protocol", Options{AllowPort: true}, "ftp://h:25/a\n", "1 a ftp://h:25/a\n"},
	{"text, by name", Options{Format: "text"}, "I found it under ftp://h/a, too.\n", "1 a ftp://h/a\n"},

	{"tsv", Options{}, "Path\tnote\tURL\tsize\tSHA-256\tmd5\nd/e\tx y\tftp://h/f\t12\t" + sha256abc + "\t" + md5a + "\n",
		"2 d/e ftp://h/f 12 sha256:" + sha256abc + "\n"},
	{"tsv, empty cells and comments", Options{}, "# made by hand\n#url\tsize\tmd5sum\n\n#x\nftp://h/f\t\t" + md5a + "\nftp://h/g\t0\t\n",
		"5 f ftp://h/f md5:" + md5a + "\n6 g ftp://h/g 0\n"},
	{"tsv of R, in quotes", Options{}, "\"url\"\t\"path\"\n\"ftp://h/f\"\t\"a \"\"b\"\"\"\n", "2 a \"b\" ftp://h/f\n"},
	{"tsv, first header cell empty", Options{}, "\turl\n1\tftp://h/f\n", "2 f ftp://h/f\n"},
	{"tsv, alternatives", Options{}, "url\turl\turls\nftp://h/f\tftp://i/f\tftp://j/f ftp://k/f;type=i\n\t\tftp://l/g\n",
		"2 f ftp://h/f ftp://i/f ftp://j/f ftp://k/f;type=i\n3 g ftp://l/g\n"},
	{"tsv, one column", Options{}, "url\nftp://h/f\n", "2 f ftp://h/f\n"},
	{"csv", Options{}, "size,url,checksum\n7,ftp://h/f,SHA256:" + sha256abc + "\n", "2 f ftp://h/f 7 sha256:" + sha256abc + "\n"},
	{"csv, quoted", Options{}, "\"title, long\",url,path\r\n\"a\r\nb, \"\"c\"\"\",ftp://h/f,\"x,y\"\r\nd,\"ftp://h/g\",\r\n",
		"2 x,y ftp://h/f\n4 g ftp://h/g\n"},
	{"ndjson", Options{}, `{"url":"ftp://h/f","size":12,"md5":"` + md5a + `","extra":{"a":[1]}}` + "\n\n" +
		`{"URL":["ftp://h/g","ftp://i/g"],"path":"x/ y","size":"3","sha1":null}` + "\n" + `{"urls":"ftp://h/i ftp://j/i"}`,
		"1 f ftp://h/f 12 md5:" + md5a + "\n3 x/ y ftp://h/g ftp://i/g 3\n4 i ftp://h/i ftp://j/i\n"},
	{"json", Options{}, "[\n{\"url\":\"ftp://h/f\"},\n  {\n \"url\": \"ftp://h/g\" } ]\n", "2 f ftp://h/f\n3 g ftp://h/g\n"},
	{"json, empty", Options{}, "[]", ""},

	{"ENA report", Options{}, "run_accession\tfastq_ftp\tfastq_md5\tfastq_bytes\n" +
		"ERR2223563\tftp.sra.ebi.ac.uk/vol1/fastq/ERR222/003/ERR2223563/ERR2223563_1.fastq.gz;ftp.sra.ebi.ac.uk/vol1/fastq/ERR222/003/ERR2223563/ERR2223563_2.fastq.gz\t" +
		md5a + ";" + md5b + "\t1170312089;1246298835",
		"2 ERR2223563_1.fastq.gz ftp://ftp.sra.ebi.ac.uk/vol1/fastq/ERR222/003/ERR2223563/ERR2223563_1.fastq.gz 1170312089 md5:" + md5a + "\n" +
			"2 ERR2223563_2.fastq.gz ftp://ftp.sra.ebi.ac.uk/vol1/fastq/ERR222/003/ERR2223563/ERR2223563_2.fastq.gz 1246298835 md5:" + md5b + "\n"},
	{"ENA report with several sets", Options{}, "fastq_ftp\tsubmitted_ftp\tsra_md5\tsra_ftp\tsubmitted_bytes\nh.x/a;\th.x/7568_4#9 %23.bam\t" + md5a + "\th.x/s\t5\n\t\t\t\t\n\t\t\th.x/t\t\n",
		"2 a ftp://h.x/a\n2 7568_4#9 %23.bam ftp://h.x/7568_4%239%20%2523.bam 5\n2 s ftp://h.x/s md5:" + md5a + "\n4 t ftp://h.x/t\n"},
	{"ENA report, one set chosen", Options{Map: []string{"ena:SRA", "ena:fastq_ftp"}}, "fastq_ftp\tsubmitted_ftp\tsra_ftp\nh.x/a\th.x/b\tftp://h.x/c\n", "2 c ftp://h.x/c\n2 a ftp://h.x/a\n"},
	{"ENA report as JSON", Options{Map: []string{"ena:sra"}}, `[{"run_accession":"SRR16298157","fastq_ftp":"ftp.sra.ebi.ac.uk/vol1/fastq/SRR162/057/SRR16298157/SRR16298157_1.fastq.gz",` +
		`"fastq_bytes":"43409","sra_ftp":"ftp.sra.ebi.ac.uk/vol1/srr/SRR162/057/SRR16298157","sra_bytes":"157435","sra_md5":"baa98dd72f2a966be8f76569e46c03d9"},` + "\n" + `{"run_accession":"x","sra_ftp":""}]`,
		"1 SRR16298157 ftp://ftp.sra.ebi.ac.uk/vol1/srr/SRR162/057/SRR16298157 157435 md5:baa98dd72f2a966be8f76569e46c03d9\n"},

	{"NCBI summary", Options{}, "##  See ftp://ftp.ncbi.nlm.nih.gov/genomes/README_assembly_summary.txt for a description of the columns in this file.\n" +
		"#assembly_accession\ttaxid\tftp_path\tgroup\n" +
		"GCF_000005845.2\t511145\thttps://ftp.ncbi.nlm.nih.gov/genomes/all/GCF/000/005/845/GCF_000005845.2_ASM584v2\tbacteria\n" +
		"GCA_000000001.1\t1\tna\tx\n",
		"3 GCF_000005845.2_ASM584v2_genomic.fna.gz ftp://ftp.ncbi.nlm.nih.gov/genomes/all/GCF/000/005/845/GCF_000005845.2_ASM584v2/GCF_000005845.2_ASM584v2_genomic.fna.gz\n"},
	{"NCBI summary, older", Options{Map: []string{"ncbi:_a", "ncbi:_b"}}, "#   See README\n# assembly_accession\tftp_path\nGCA_1\tftp://ftp.ncbi.nlm.nih.gov/all/GCA_1_x/\n",
		"3 GCA_1_x_a ftp://ftp.ncbi.nlm.nih.gov/all/GCA_1_x/GCA_1_x_a\n3 GCA_1_x_b ftp://ftp.ncbi.nlm.nih.gov/all/GCA_1_x/GCA_1_x_b\n"},
	{"NCBI digests", Options{Base: genomes}, "c13d459b5caa702ff7e1f26fe44b8ad7  ./GCF_000005845.2_ASM584v2_genomic.fna.gz\n2238238dd39e11329547d26ab138be41  ./sub dir/a#b\n",
		"1 GCF_000005845.2_ASM584v2_genomic.fna.gz ftp://h/genomes/x/GCF_000005845.2_ASM584v2_genomic.fna.gz md5:c13d459b5caa702ff7e1f26fe44b8ad7\n" +
			"2 sub dir/a#b ftp://h/genomes/x/sub%20dir/a%23b md5:2238238dd39e11329547d26ab138be41\n"},
	{"BSD digests", Options{Base: genomes, Format: "sums"}, "# x\nSHA256 (a) = " + sha256abc + "\n", "2 a ftp://h/genomes/x/a sha256:" + sha256abc + "\n"},

	// The columns and comments as the archives' own descriptions give them; the names are made up.
	{"IGSR sequence.index", Options{Base: genomes}, "##FileDate=20190503\n##ENA_FILE_PATH=path to ENA file on ENA ftp site\n##MD5=md5sum of file\n" +
		"#ENA_FILE_PATH\tMD5SUM\tRUN_ID\nftp://h/vol1/run/ERR1/N1.cram\t" + md5a + "\tERR1\nftp:/ftp.h.x/N2.cram\t" + md5b + "\tERR2\n",
		"5 N1.cram ftp://h/vol1/run/ERR1/N1.cram md5:" + md5a + "\n6 N2.cram ftp://ftp.h.x/N2.cram md5:" + md5b + "\n"},
	{"IGSR sequence.index, relative", Options{Base: genomes}, "FASTQ_FILE\tMD5\tRUN_ID\ndata/N1/E1_1.fastq.gz\t" + md5a + "\tE1\nFASTQ_FILE\tMD5\tRUN_ID\ndata/N1/E1#2.gz\t" + md5b + "\tE1\n",
		"2 data/N1/E1_1.fastq.gz ftp://h/genomes/x/data/N1/E1_1.fastq.gz md5:" + md5a + "\n4 data/N1/E1#2.gz ftp://h/genomes/x/data/N1/E1%232.gz md5:" + md5b + "\n"},
	{"Argo index", Options{}, "# Title : Profile directory file of the Argo Global Data Assembly Center\n# FTP root number 1 : ftp://h/argo/dac\n# FTP root number 2 : ftp://i/argo/dac\n# GDAC node : X\n" +
		"file,date,latitude,longitude,ocean,profiler_type,institution,date_update\naoml/1/profiles/R1_001.nc,20200101000000,0.267,-16.032,A,845,AO,20200102000000\naoml/1/R1_002.nc,2,,,,845,AO,3,\"more\",x\n",
		"6 aoml/1/profiles/R1_001.nc ftp://h/argo/dac/aoml/1/profiles/R1_001.nc\n7 aoml/1/R1_002.nc ftp://h/argo/dac/aoml/1/R1_002.nc\n"},
	{"Argo index, another root", Options{Base: genomes, Map: []string{"url=file"}}, "# FTP root number 1 : ftp://i/argo/dac\nfile,date\na/R1.nc,1\n", "3 a/R1.nc ftp://h/genomes/x/a/R1.nc\n"},
	{"Argo index from its server", Options{Base: genomes}, "# FTP root number 1 : ftp://h/argo/dac\nfile,date\na/R1.nc,1\n", "3 a/R1.nc ftp://h/argo/dac/a/R1.nc\n"},
	{"ENA report from a server", Options{Base: genomes}, "fastq_ftp\nh/a\n", "2 a ftp://h/a\n"},
	{"SDRF of ArrayExpress", Options{}, "Source Name\tComment [FASTQ_URI]\tComment[MD5]\nS1\tftp://h/E1_1.fastq.gz\t\nS1\tftp://h/E1_2.fastq.gz\t\n",
		"2 E1_1.fastq.gz ftp://h/E1_1.fastq.gz\n3 E1_2.fastq.gz ftp://h/E1_2.fastq.gz\n"},
	{"SDRF of proteomics", Options{}, "source name\tcomment[data file]\tcomment[file uri]\nS1\ta.raw\thttps://ftp.pride.ebi.ac.uk/p/a.raw\nS2\tb.raw\tnot available\n",
		"2 a.raw ftp://ftp.pride.ebi.ac.uk/p/a.raw\n"},
	{"README.txt of PRIDE", Options{}, "ID\tNAME\tURI\tTYPE\tMAPPINGS\n1\ta.raw\tftp://h/p/a.raw\tRAW\t-\n", "2 a.raw ftp://h/p/a.raw\n"},
	{"JSON of digests", Options{Base: genomes}, "{\"i_X.txt\": \"" + sha256abc + "\",\n\"FILES/a b.zip\": \"" + md5a + "\", \"version\": 1}",
		"1 i_X.txt ftp://h/genomes/x/i_X.txt sha256:" + sha256abc + "\n2 FILES/a b.zip ftp://h/genomes/x/FILES/a%20b.zip md5:" + md5a + "\n"},
	{"JSON, an array within", Options{Map: []string{"url=downloadLink,size=fileSize,path=fileName"}},
		`{"page":{"n":1,"tags":["x",2]},"list":[{"fileName":"a","fileSize":3,"downloadLink":"ftp://h/x/1"},` + "\n" + `{"other":{},"fileName":"b","fileSize":4,"downloadLink":"ftp://h/x/2"}]}`,
		"1 a ftp://h/x/1 3\n2 b ftp://h/x/2 4\n"},
	{"NDJSON, mapped", Options{Map: []string{"url=link,sha256=sum"}}, `{"link":"ftp://h/a","sum":"` + sha256abc + `","n":1}` + "\n" + `{"n":2,"sum":"","link":"ftp://h/b"}`,
		"1 a ftp://h/a sha256:" + sha256abc + "\n2 b ftp://h/b\n"},
	{"several URLs in a cell", Options{Map: []string{"MD5=Sums, Size=n, url=Links, path=As"}}, "As\tLinks\tn\tSums\nx/a;x/b\tftp://h/1;type=i;ftp://h/2\t1;2\t" + md5a + ";" + md5b + "\n",
		"2 x/a ftp://h/1;type=i 1 md5:" + md5a + "\n2 x/b ftp://h/2 2 md5:" + md5b + "\n"},
	{"several maps", Options{Map: []string{"url=b", "url=a"}}, "a,b\nftp://h/1,ftp://h/2\n", "2 2 ftp://h/2\n2 1 ftp://h/1\n"},
	{"a comment as header", Options{Map: []string{"url=b"}}, "# first\n# a\tb\n\tftp://h/2\n", "3 2 ftp://h/2\n"},
	{"compressed", Options{}, gzipped("url\nftp://h/a\n") + gzipped("ftp://h/b\n"), "2 a ftp://h/a\n3 b ftp://h/b\n"},
	{"nothing", Options{}, "\n", ""},
	{"a header alone", Options{}, "url\tpath\n", ""},
}

// TestRead reads every form, told by its beginning.
func TestRead(t *testing.T) {
	for _, tt := range readTests {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(tt.text, tt.o); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// badLines are lines that cannot be read, each between a header and a good line.
var badLines = []struct {
	name string
	o    Options
	head string
	bad  string
	good string
	want string // after "line N: "
}{
	{"a space", Options{}, "", "ftp://h/a b", "ftp://h/g", "ftp://h/a b: column 10: a space cannot stand unencoded in a path; write %20"},
	{"a hash", Options{}, "", "ftp://h/a#b", "ftp://h/g", `ftp://h/a#b: column 10: "#" cannot stand unencoded in a path; write %23`},
	{"a password", Options{}, "ftp://h/x\n", "ftp://u:se#cret@h/a", "ftp://h/g", `ftp://u:***@h/a: column 11: "#" cannot stand unencoded in a password; write %23`},
	{"no scheme", Options{}, "", "ftp.example.org/a", "ftp://h/g", "ftp.example.org/a: the scheme is missing; write ftp://ftp.example.org/a, or --base ftp:// for the whole list"},
	{"another scheme", Options{}, "", "http://h/a", "ftp://h/g", "http://h/a: http is not supported, only ftp, ftps and ftpes (use curl)"},
	{"a port", Options{}, "", "ftp://h:25/a", "ftp://h/g", "ftp://h:25/a: column 9: port 25 belongs to another protocol (smtp); FTPFETCH_WITHOUT=portcheck (Client.AllowPort) allows it, if an FTP server is there"},
	{"a directory", Options{}, "", "ftp://h/a/", "ftp://h/g", "ftp://h/a/: names a directory: write the URL of a file"},
	{"a directory by type", Options{}, "", "ftp://u:secret@h/a;type=d", "ftp://h/g", "ftp://u:***@h/a;type=d: names a directory: write the URL of a file"},
	{"a name that leaves", Options{}, "", "ftp://u:secret@h/a/%2Fetc", "ftp://h/g",
		`ftp://u:***@h/a/%2Fetc: cannot be saved under its own name, which holds a "/" and would be saved in another directory: give it a path`},
	{"dots as a name", Options{}, "", "ftp://h/..", "ftp://h/g", "ftp://h/..: cannot be saved under its own name, which is a directory, not a file name: give it a path"},
	{"a null segment kept", Options{KeepDirs: true}, "", "ftp://h//a", "ftp://h/g", "ftp://h//a: cannot be saved under its own name, which has a component without a name: give it a path"},
	{"a line too long", Options{}, "", "ftp://h/" + overlong, "ftp://h/g", "the line is longer than 1048576 bytes"},

	{"too few cells", Options{}, "url\tmd5\n", "ftp://h/a", "ftp://h/g\t", "the number of cells is 1, but that of the header is 2: write one cell for each column"},
	{"too many cells", Options{}, "url\tmd5\n", "1\tftp://h/a\t", "ftp://h/g\t", "the number of cells is 3, but that of the header is 2: write one cell for each column"},
	{"no URL", Options{}, "url\tmd5\n", "\t" + md5a, "ftp://h/g\t", "the line has no URL: write one, such as ftp://host/path, in the column url"},
	{"a bad URL", Options{}, "url\tmd5\n", "h/u:secret@x\t", "ftp://h/g\t", "url: h/u:***@x: the scheme is missing; write ftp://h/u:***@x"},
	{"a bad alternative", Options{}, "url\turls\n", "ftp://h/a\tftp://h/a ftp://h/", "ftp://h/g\t", "urls: ftp://h/: names a directory: write the URL of a file"},
	{"a size in units", Options{}, "url\tsize\n", "ftp://h/a\t1.2G", "ftp://h/g\t1", "size: is not a number of bytes: write digits only, such as 1048576"},
	{"a negative size", Options{}, "url\tsize\n", "ftp://h/a\t-1", "ftp://h/g\t1", "size: is not a number of bytes: write digits only, such as 1048576"},
	{"a huge size", Options{}, "url\tsize\n", "ftp://h/a\t9223372036854775808", "ftp://h/g\t1", "size: is not a number of bytes: write digits only, such as 1048576"},
	{"a short digest", Options{}, "url\tmd5\tsha1\n", "ftp://h/a\t\tabc", "ftp://h/g\t\t", "sha1: sha1 has 40 hexadecimal digits, not 3"},
	{"a weaker digest is bad", Options{}, "url\tmd5\tsha256\n", "ftp://h/a\tx\t" + sha256abc, "ftp://h/g\t\t", "md5: md5: 'x' at character 1 is not a hexadecimal digit"},
	{"a checksum without algorithm", Options{}, "url\tchecksum\n", "ftp://h/a\t" + md5a, "ftp://h/g\t",
		"checksum: is not a digest: write ALGO:HEX, such as md5: and 32 hexadecimal digits"},
	{"an absolute path", Options{}, "url\tpath\n", "ftp://h/a\t/etc/passwd", "ftp://h/g\t", "path: is absolute: write it relative to the output directory"},
	{"a path that leaves", Options{}, "url\tpath\n", "ftp://h/a\tx/../../y", "ftp://h/g\t",
		`path: has "." or ".." as a component: write it without them, relative to the output directory`},
	{"a path of a directory", Options{}, "url\tpath\n", "ftp://h/a\tx/", "ftp://h/g\t", "path: has an empty component: write a name before and after each /"},
	{"the path of a journal", Options{}, "url\tpath\n", "ftp://h/a\tx.ftpfetch.json", "ftp://h/g\t", "path: has a name that ftpfetch gives its own files: write another name"},

	{"an open quote", Options{}, "url,path\n", "ftp://h/a,\"x", "ftp://h/g,", `column 13: a quotation mark is not closed, or text follows it: write "" for one in a cell`},
	{"a bare quote", Options{}, "url,path\n", `ftp://h/a,x"y"`, "ftp://h/g,", `column 12: a quotation mark in a cell that does not begin with one: write "" for it, and " around the cell`},
	{"text after a quote", Options{}, "url,path\n", `ftp://h/a,"x"y`, "ftp://h/g,", `column 13: a quotation mark is not closed, or text follows it: write "" for one in a cell`},

	{"not JSON", Options{Format: "ndjson"}, "", `{"url":`, `{"url":"ftp://h/g"}`, `is not a JSON object: write {"url": "ftp://host/path"}`},
	{"not an object", Options{Format: "ndjson"}, "", `"ftp://h/a"`, `{"url":"ftp://h/g"}`, `is not a JSON object: write {"url": "ftp://host/path"}`},
	{"two objects", Options{Format: "ndjson"}, "", `{"url":"ftp://h/a"} {}`, `{"url":"ftp://h/g"}`, "text follows the JSON object: write one object on each line"},
	{"an object without URL", Options{Format: "ndjson"}, "", `{"path":"a"}`, `{"url":"ftp://h/g"}`, "the line has no URL: write one, such as ftp://host/path, in the column url"},
	{"an empty array", Options{Format: "ndjson"}, "", `{"url":[]}`, `{"url":"ftp://h/g"}`, "the line has no URL: write one, such as ftp://host/path, in the column url"},
	{"two paths", Options{Format: "ndjson"}, "", `{"url":"ftp://h/a","path":["a","b"]}`, `{"url":"ftp://h/g"}`, "the column path is there twice: leave one out"},
	{"a path that is no string", Options{Format: "ndjson"}, "", `{"url":"ftp://h/a","path":true}`, `{"url":"ftp://h/g"}`, "path is neither a string nor a number: write it as a string"},
	{"a size that is no integer", Options{Format: "ndjson"}, "", `{"url":"ftp://h/a","size":1e3}`, `{"url":"ftp://h/g"}`, "size: is not a number of bytes: write digits only, such as 1048576"},

	{"unequal lists", Options{}, "x_ftp\tx_md5\n", "h.x/a;h.x/b\t" + md5a, "h.x/g\t", "the number of elements of x_md5 is 1, but that of x_ftp is 2: download the list again"},
	{"unequal sizes", Options{}, "x_ftp\tx_bytes\n", "h.x/a\t1;2", "h.x/g\t", "the number of elements of x_bytes is 2, but that of x_ftp is 1: download the list again"},
	{"a digest without URL", Options{}, "x_ftp\tx_md5\n", "\t" + md5a, "h.x/g\t", "the number of elements of x_md5 is 1, but that of x_ftp is 0: download the list again"},
	{"an empty element", Options{}, "x_ftp\tx_md5\n", "h.x/a;;h.x/b\t", "h.x/g\t", "x_ftp: an element is empty: download the list again"},
	{"a bad host", Options{}, "x_ftp\n", "h.x o/a", "h.x/g", "x_ftp: ftp://h.x o/: column 10: a space cannot stand in a host"},
	{"a host alone", Options{}, "x_ftp\n", "h.x", "h.x/g", "x_ftp: ftp://h.x/: names a directory: write the URL of a file"},
	{"a report's bad digest", Options{}, "x_ftp\tx_md5\n", "h.x/a\tabc", "h.x/g\t", "x_md5: md5 has 32 hexadecimal digits, not 3"},

	{"a relative name", Options{}, "file,date\n", "aoml/a.nc,1", "ftp://h/g,1", "file: is relative: give the URL of the directory that it is below (--base URL)"},
	{"a relative name that leaves", Options{Base: aDir}, "fastq_file\tmd5\n", "../a\t", "g\t", `fastq_file: the name: has "." or ".." as a component: write it without them, relative to the output directory`},
	{"too few digests", Options{Map: []string{"url=u,md5=m"}}, "u\tm\n", "ftp://h/a;ftp://h/b\t" + md5a, "ftp://h/g\t", "the number of elements of m is 1, but that of u is 2: download the list again"},
	{"cells cut off", Options{Map: []string{"url=u,md5=m"}}, "u\tn\tm\n", "ftp://h/a\t", "ftp://h/g\t\t\t", "the number of cells is 2, but that of the header is 3: write one cell for each column"},
	{"an object without a member", Options{Map: []string{"url=u,md5=m"}, Format: "ndjson"}, "", `{"u":"ftp://h/a","M D":""}`, `{"u":"ftp://h/g","m":""}`, "there is no column m: choose among M D, u"},
	{"NCBI by HTTPS elsewhere", Options{}, "#ftp_path\n", "https://h/GCA_1", "ftp://h/g", "ftp_path: https://h/GCA_1: https is not supported, only ftp, ftps and ftpes (use curl)"},
	{"NCBI, a host alone", Options{}, "#ftp_path\n", "ftp://h", "ftp://h.x/g", "ftp_path: ftp://h/: is not the directory of an assembly: download the file again"},
	{"NCBI, cut off", Options{}, "#a\tftp_path\n", "x", "\tftp://h/g", "the number of cells is 1, but that of the header is 2: write one cell for each column"},
	{"not a digest", Options{Base: aDir, Format: "sums"}, "", "g", md5a + "  g", "is not a digest and a name: write the digest, two spaces and the name"},
	{"a digest without name", Options{Base: aDir, Format: "sums"}, "", md5a, md5a + "  g", "is not a digest and a name: write the digest, two spaces and the name"},
	{"a listed name that leaves", Options{Base: aDir, Format: "sums"}, "", md5a + "  ./../x", md5a + "  g",
		`the name: has "." or ".." as a component: write it without them, relative to the output directory`},
}

var (
	aDir     = &urlparse.URL{Scheme: urlparse.FTP, Host: "h"}
	overlong = strings.Repeat("x", maxLine+1)
)

// TestBadLines checks that each bad line has its message, and that the good line after it is read.
func TestBadLines(t *testing.T) {
	for _, tt := range badLines {
		t.Run(tt.name, func(t *testing.T) {
			got := show(tt.head+tt.bad+"\n"+tt.good+"\n", tt.o)
			n := strings.Count(tt.head, "\n") + 1
			want := fmt.Sprintf("line %d: %s\n", n, tt.want)
			errors, items := "", 0
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "line ") {
					errors += line
				} else if strings.HasPrefix(line, fmt.Sprint(n+1+strings.Count(tt.bad, "\n"), " ")) {
					items++
				}
			}
			if errors != want || items != 1 {
				t.Errorf("got\n%swant\n%s and an item of line %d", got, want, n+1)
			}
		})
	}
}

// TestFatal checks what ends the reading, because no later line can be understood.
func TestFatal(t *testing.T) {
	for _, tt := range []struct {
		o          Options
		text, want string
	}{
		{Options{Format: "tsv"}, "ftp://u:secret@h.x/a\t1\nftp://h.x/b\t2\n", "line 1: the first line names no column url, and none that an archive's list has: write a header such as url, path, size, sha256, or say which columns to read (--map url=COLUMN)\n"},
		{Options{}, "run_accession\tfastq_aspera\nE1\tfasp.h:/a\n", "line 1: the first line names no column url, and none that an archive's list has: write a header such as url, path, size, sha256, or say which columns to read (--map url=COLUMN)\n"},
		{Options{Map: []string{"ena:bam"}}, "fastq_ftp\nh.x/a\n", "line 1: there is no column bam_ftp: choose among fastq_ftp\n"},
		{Options{Map: []string{"url=FASTQ,md5=MD5"}}, "FASTQ_FILE\tMD5\nftp://h/a\t\n", "line 1: there is no column fastq: choose among FASTQ_FILE, MD5\n"},
		{Options{Map: []string{"url=x"}}, "ftp://u:secret@h/a,y\n", "line 1: there is no column x: choose among y\n"},
		{Options{Map: []string{"url=a"}}, "a\tA\nftp://h/a\tftp://h/b\n", "line 1: the column a is there twice: leave one out\n"},
		{Options{Map: []string{"md5=a"}}, "a\n", "line 1: the map \"md5=a\" says nothing about URLs: write url=COLUMN too\n"},
		{Options{Map: []string{"url=a,b"}}, "a\n", "line 1: the map \"url=a,b\": \"b\" is no cell: write url=COLUMN, and path, size, checksum or sha512, blake2b, sha256, sha1, md5, crc32, bsdsum likewise, ena:COLUMN or ncbi:SUFFIX\n"},
		{Options{}, "{\"a\":\n\"" + md5a + "\"}", "line 2: a list of digests names files without their directory: give its URL as the base (--base URL)\n"},
		{Options{}, "{\"a\": 1}", "line 1: the list has neither a JSON array nor digests: write [ before the first object\n"},
		{Options{Format: "tsv"}, "url\tsize\tSIZE\nx\t1\t2\n", "line 1: the column size is there twice: leave one out\n"},
		{Options{Format: "tsv"}, "##x\nGCA_1\tna\n", "line 2: the first line names no column url, and none that an archive's list has: write a header such as url, path, size, sha256, or say which columns to read (--map url=COLUMN)\n"},
		{Options{}, md5a + "  a\n", "line 1: a list of digests names files without their directory: give its URL as the base (--base URL)\n"},
		{Options{}, "\xff\xfeu\x00", "line 1: the list is in UTF-16: save it as UTF-8\n"},
		{Options{}, "\x1f\x8b\x08", "line 1: the list is compressed and damaged: download it again\n"},
		{Options{}, gzipped("ftp://h/a\nftp://h/b\n")[:36], "1 a ftp://h/a\n2 b ftp://h/b\nline 2: the list is compressed and damaged: download it again\n"},
		{Options{Format: "xml"}, "x", `line 1: there is no form of list "xml": write one of ["tsv" "csv" "json" "ndjson" "list" "sums" "text"]` + "\n"},
		{Options{}, "[\n{\"url\":\"ftp://h/a\"}\n{\"url\":\"ftp://h/b\"}]", "2 a ftp://h/a\nline 3: is not JSON: write each object as {\"url\": \"ftp://host/path\"}, with a comma between two\n"},
		{Options{}, "[\n{\"url\":\"ftp://h/a\"},", "2 a ftp://h/a\nline 2: the JSON ends too early: download the list again\n"},
		{Options{Format: "json"}, `{"url":"ftp://h/a"}`, "line 1: the list has neither a JSON array nor digests: write [ before the first object\n"},
		{Options{}, "[\n\"" + strings.Repeat("x", 3*maxLine), "line 2: the line is longer than 1048576 bytes\n"},
	} {
		if got := show(tt.text, tt.o); got != tt.want {
			t.Errorf("%.40q: got\n%swant\n%s", tt.text, got, tt.want)
		}
	}
}

// TestReadError checks that an error of the reader comes last and unchanged, in every form, and that half a line is not
// taken for a whole one.
func TestReadError(t *testing.T) {
	want := errors.New("the disk is on fire")
	for _, format := range formats() {
		start := map[string]string{"json": `["`, "tsv": "url\n", "csv": "url\n"}[format]
		broken := func() io.Reader { return io.MultiReader(strings.NewReader(start+"ftp://h/ha"), iotest.ErrReader(want)) }
		o := Options{Format: format, Base: must.Get(urlparse.Parse("ftp://h/"))(t)}
		if files, _, errs := Check(broken(), o); files != 0 || len(errs) == 0 || errs[len(errs)-1] != want {
			t.Errorf("%s: Check has %d files, %v", format, files, errs)
		}
		var got []error
		for item, err := range Read(broken(), o) {
			if err == nil {
				t.Errorf("%s: got %s", format, showItem(item))
			}
			got = append(got, err)
		}
		if len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("%s: got %v", format, got)
		}
	}
}

// TestStop checks that nothing is read after the caller has stopped.
func TestStop(t *testing.T) {
	texts := []string{"ftp://h.x/a\nftp://h.x/b\n", "<ftp://h.x/a> <ftp://h.x/b>", "url\nftp://h.x/a\nftp://h.x/b\n", "x_ftp\ty_ftp\nh/a;h.x/b\th/c\n",
		"{\"url\":\"ftp://h/a\"}\n{}\n", "[{\"url\":\"ftp://h/a\"},1]", "#ftp_path\nftp://h/a\nna\nx\n", "bad\nbad\n"}
	for _, text := range texts {
		n := 0
		for range Read(strings.NewReader(text), Options{}) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%q: %d", text, n)
		}
	}
}

func TestGuess(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "list",
		"ftp://h/a":                   "list",
		"nonsense":                    "list",
		"ftp://h/a\n<URL:ftp://h/b>":  "list",
		"x < y <ftp://h/a>":           "text",
		"url":                         "tsv",
		"a\tfastq_ftp":                "tsv",
		"_ftp":                        "list",
		"a,URL":                       "csv",
		"#ftp_path":                   "tsv",
		"a,b":                         "csv",
		"h/x,v":                       "list",
		" {":                          "json",
		"[":                           "json",
		"# x\n" + md5a + "  a":        "sums",
		"SHA256 (a) = " + sha256abc:   "sums",
		strings.Repeat("#x\n", 1<<10): "list",
	} {
		if got := (&reader{}).guess(text); got != want {
			t.Errorf("guess(%.30q) = %q, want %q", text, got, want)
		}
	}
}
