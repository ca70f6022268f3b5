package listing

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"
)

// now is when the lines are read, unless a test says otherwise.
var now = time.Date(2005, 6, 15, 12, 0, 0, 0, time.UTC)

const (
	unknown = fs.ModeIrregular
	link    = fs.ModeSymlink
)

// at returns a time in UTC, which Item.Time is written in.
func at(text string) time.Time {
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	panic(text)
}

// told returns an Item with permissions.
func told(mode fs.FileMode, name string, size int64, when string, unit time.Duration) Item {
	item := plain(mode, name, size, when, unit)
	item.HasPerm = true
	return item
}

func plain(mode fs.FileMode, name string, size int64, when string, unit time.Duration) Item {
	item := Item{Mode: mode, Name: name, Size: size, Precision: unit}
	if when != "" {
		item.Time = at(when)
	}
	return item
}

func (item Item) to(target string) Item { item.Target = target; return item }
func (item Item) inUTC() Item           { item.UTC = true; return item }
func (item Item) id(unique string) Item { item.Unique = unique; return item }

var mlsdLines = []struct {
	source, line string
	want         Item
}{
	{"RFC 3659 7.7.4", "Type=file;Size=25730;Modify=19940728095854;Perm=; cap60.pl198.tar.gz", plain(0, "cap60.pl198.tar.gz", 25730, "1994-07-28 09:58:54", time.Second).inUTC()},
	{"RFC 3659 7.7.4", "Type=file;Size=1024990;Perm=r; /tmp/cap60.pl198.tar.gz", plain(0, "/tmp/cap60.pl198.tar.gz", 1024990, "", 0)},
	{"RFC 3659 7.7.4", "Type=dir;Unique=keVO1+7G4;Perm=cpmel; promiscuous", plain(fs.ModeDir, "promiscuous", -1, "", 0).id("keVO1+7G4")},
	{"RFC 3659 7.7.4", "Type=OS.unix=slink:/foobar;Perm=;Unique=keVO1+4G4; foobar", plain(link, "foobar", -1, "", 0).id("keVO1+4G4").to("/foobar")},
	{"RFC 3659 7.7.4", "Type=OS.unix=chr-13/29;Perm=;Unique=keVO1+5G4; device", plain(fs.ModeDevice|fs.ModeCharDevice, "device", -1, "", 0).id("keVO1+5G4")},
	{"RFC 3659 7.7.4", "Type=OS.unix=blk-11/108;Perm=;Unique=keVO1+6G4; block", plain(fs.ModeDevice, "block", -1, "", 0).id("keVO1+6G4")},
	{"RFC 3659 2.3", "modify=19990929003355.237; fraction", plain(unknown, "fraction", -1, "1999-09-29 00:33:55.237", time.Millisecond).inUTC()},
	{"RFC 3659 7.2, no facts", " name", plain(unknown, "name", -1, "", 0)},
	{"RFC 3659 7.2, no facts", "  two", plain(unknown, " two", -1, "", 0)},
	{"proftpd 1.3.8", "modify=20260102030405;perm=flcdmpe;type=dir;unique=FE00U20A;UNIX.group=0;UNIX.groupname=root;UNIX.mode=01755;UNIX.owner=0;UNIX.ownername=root; pub",
		told(fs.ModeDir|fs.ModeSticky|0o755, "pub", -1, "2026-01-02 03:04:05", time.Second).inUTC().id("FE00U20A")},
	{"proftpd 1.3.8", "modify=20150928140340;perm=adfrw;size=6;type=OS.unix=symlink;unique=801U5AA227;UNIX.group=1000;UNIX.mode=0777;UNIX.owner=1000; slinkdir",
		told(link|0o777, "slinkdir", -1, "2015-09-28 14:03:40", time.Second).inUTC().id("801U5AA227")},
	{"pure-ftpd 1.0.50", "type=dir;sizd=4096;modify=20260102030405;UNIX.mode=0755;UNIX.uid=0;UNIX.gid=0;unique=fe00g20a; dir",
		told(fs.ModeDir|0o755, "dir", -1, "2026-01-02 03:04:05", time.Second).inUTC().id("fe00g20a")},
	{"cPanel's pure-ftpd", "type=OS.unix=slink:;size=32;modify=20140728100902;UNIX.mode=0777;UNIX.uid=647;UNIX.gid=649;unique=fd01g1220c04; access-logs",
		told(link|0o777, "access-logs", -1, "2014-07-28 10:09:02", time.Second).inUTC().id("fd01g1220c04")},
	{"pyftpdlib 1.5.7", "modify=20260102030405;perm=r;size=12;type=file;unique=fe0020a; a b;c=d; e", plain(0, "a b;c=d; e", 12, "2026-01-02 03:04:05", time.Second).inUTC().id("fe0020a")},
	{"ftpserverlib 0.32.3", "Type=file;Size=7;Modify=20260102030405; x", plain(0, "x", 7, "2026-01-02 03:04:05", time.Second).inUTC()},
	{"other case", "TYPE=Dir; UpperDir", plain(fs.ModeDir, "UpperDir", -1, "", 0)},
	{"a target with a space", "type=OS.unix=slink:a b;size=3; n", plain(link, "n", -1, "", 0).to("a b")},
	{"the last of two types", "type=OS.unix=slink:a;type=file; n", plain(0, "n", -1, "", 0)},
	{"no last semicolon", "type=file;size=3 n", plain(0, "n", 3, "", 0)},
	{"the name's own spaces and semicolons", "type=file;   ; a ", plain(0, "  ; a ", -1, "", 0)},
	{"an unknown type", "type=OS.z/OS=pds; n", plain(unknown, "n", -1, "", 0)},
	{"bad values", "type=file;size=-1;modify=2026;UNIX.mode=9; n", plain(0, "n", -1, "", 0)},
	{"a size over 63 bits", "type=file;size=9223372036854775808; n", plain(0, "n", -1, "", 0)},
	{"the type after the mode", "UNIX.mode=04755;type=file; su", told(0o755|fs.ModeSetuid, "su", -1, "", 0)},
	{"a name with a carriage return", "type=file; a\rb", plain(0, "a\rb", -1, "", 0)},
}

func TestMLSD(t *testing.T) {
	for _, test := range mlsdLines {
		got, err := MLSD(test.line)
		if err != nil || got != test.want {
			t.Errorf("%s: %q\n got %+v, %v\nwant %+v", test.source, test.line, got, err, test.want)
		}
	}
}

var listLines = []struct {
	source, line string
	want         Item
}{
	// Unix.
	{"vsftpd 3.0.3", "-rw-r--r--    1 0        0               7 Jan 02  2003 file", told(0o644, "file", 7, "2003-01-02", day)},
	{"vsftpd 3.0.3", "drwxr-xr-x    2 0        0            4096 Jun 15 03:04 dir", told(fs.ModeDir|0o755, "dir", -1, "2005-06-15 03:04", time.Minute)},
	{"vsftpd 3.0.3", "lrwxrwxrwx    1 0        0               4 Jan 02  2003 a -> b -> file", told(link|0o777, "a -> b", -1, "2003-01-02", day).to("file")},
	{"without the target's length", "lrwxrwxrwx   1 root     other          0 Jan 25 00:17 a -> b -> c", told(link|0o777, "a", -1, "2005-01-25 00:17", time.Minute).to("b -> c")},
	{"ftpparse", "-rw-r--r--   1 root     other        531 Jan 29 03:26 README", told(0o644, "README", 531, "2005-01-29 03:26", time.Minute)},
	{"ftpparse", "dr-xr-xr-x   2 root     512 Apr  8  1994 etc", told(fs.ModeDir|0o555, "etc", -1, "1994-04-08", day)},
	{"ftpparse", "lrwxrwxrwx   1 root     other          7 Jan 25 00:17 bin -> usr/bin", told(link|0o777, "bin", -1, "2005-01-25 00:17", time.Minute).to("usr/bin")},
	{"ftpparse: Windows", "----------   1 owner    group         1803128 Jul 10 10:18 ls-lR.Z", told(0, "ls-lR.Z", 1803128, "2004-07-10 10:18", time.Minute)},
	{"ftpparse: NetPresenz", "-------r--         326  1391972  1392298 Nov 22  1995 MegaPhone.sit", told(0o004, "MegaPhone.sit", 1392298, "1995-11-22", day)},
	{"ftpparse: NetPresenz", "drwxrwxr-x               folder        2 May 10  1996 network", told(fs.ModeDir|0o775, "network", -1, "1996-05-10", day)},
	{"FileZilla: domain users", "-rw-r--r--   1 group domain user 531 Jan 29 03:26 README6", told(0o644, "README6", 531, "2005-01-29 03:26", time.Minute)},
	{"FileZilla: no group", "-rw-r--r--   1 root 531 Jan 29 03:26 README5", told(0o644, "README5", 531, "2005-01-29 03:26", time.Minute)},
	{"FileZilla: a group that runs into the size", "-r-xr-xr-x longowner longgroup123456 Feb 12 17:20 long size test1", told(0o555, "long size test1", -1, "2005-02-12 17:20", time.Minute)},
	{"FileZilla: VShell", "-rwxr-xr-x    1 user group        9 Oct 08, 2002 09:47 VShell (new)", told(0o755, "VShell (new)", 9, "2002-10-08 09:47", time.Minute)},
	{"FileZilla", "-rw-r--r--   1 root     other        531 09-26 2000 README2", told(0o644, "README2", 531, "2000-09-26", day)},
	{"GNU ls, iso", "-rw-r--r--   1 root     other        531 09-26 13:45 README3", told(0o644, "README3", 531, "2004-09-26 13:45", time.Minute)},
	{"GNU ls, iso", "-rw-r--r-- 1 root root 531 2003-09-26  old", told(0o644, "old", 531, "2003-09-26", day)},
	{"GNU ls, long-iso", "-rw-r--r--   1 root     other        531 2005-06-07 21:22 README4", told(0o644, "README4", 531, "2005-06-07 21:22", time.Minute)},
	{"GNU ls, full-iso", "-rw-r--r-- 1 root root 5 2005-06-07 21:22:01.123456789 +0200 n", told(0o644, "n", 5, "2005-06-07 19:22:01.123456789", 1).inUTC()},
	{"FileZilla", "-r-xr-xr-x   2 root     other      2235 1999/10/12 17:12 datetest3", told(0o555, "datetest3", 2235, "1999-10-12 17:12", time.Minute)},
	{"BSD ls -T", "-rw-r--r--  1 root  wheel  6 Jan  2 15:04:05 2003 n", told(0o644, "n", 6, "2003-01-02 15:04:05", time.Second)},
	{"FileZilla: German", "dr-xr-xr-x   2 root     other      2235 26. Juli, 20:10 datetest1 (ger)", told(fs.ModeDir|0o555, "datetest1 (ger)", -1, "2004-07-26 20:10", time.Minute)},
	{"FileZilla: German", "-r-xr-xr-x   2 root     other      2235 2.   Okt.  2003 datetest2 (ger)", told(0o555, "datetest2 (ger)", 2235, "2003-10-02", day)},
	{"French", "-rw-r--r-- 1 root root 5 févr. 12 17:20 n", told(0o644, "n", 5, "2005-02-12 17:20", time.Minute)},
	{"GNU ls in Japanese", "-rw-r--r-- 1 root root 5  4月 18  2003 n", told(0o644, "n", 5, "2003-04-18", day)},
	{"an ACL", "-rwxrw-r--+  1 521      101         2080 May 21 10:53 data.csv", told(0o764, "data.csv", 2080, "2005-05-21 10:53", time.Minute)},
	{"macOS", "-rw-r--r--@ 1 me  staff  6 Jan  2 15:04 n", told(0o644, "n", 6, "2005-01-02 15:04", time.Minute)},
	{"a device", "crw-rw-rw-   1 root     root       1,   3 Jan  2 15:04 null", told(fs.ModeDevice|fs.ModeCharDevice|0o666, "null", -1, "2005-01-02 15:04", time.Minute)},
	{"a device", "brw-rw----   1 root     disk       8, 0 Jan  2 15:04 sda", told(fs.ModeDevice|0o660, "sda", -1, "2005-01-02 15:04", time.Minute)},
	{"a pipe", "prw-r--r-- 1 root root 0 Jan  2 15:04 p", told(fs.ModeNamedPipe|0o644, "p", -1, "2005-01-02 15:04", time.Minute)},
	{"special bits", "drwsr-Sr-t 1 root root 0 Jan  2 15:04 d", told(fs.ModeDir|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|0o745, "d", -1, "2005-01-02 15:04", time.Minute)},
	{"spaces in the name", "-rw-r--r-- 1 root root 5 Dec 02  2004  foo  bar ", told(0o644, " foo  bar ", 5, "2004-12-02", day)},
	{"a time in the name", "-rw-r--r-- 1 root root 5 Jan  2 15:04 2003 Jan 3 2002 n", told(0o644, "2003 Jan 3 2002 n", 5, "2005-01-02 15:04", time.Minute)},
	{"an arrow in a file's name", "-rw-r--r-- 1 root root 5 Jan  2 15:04 a -> b", told(0o644, "a -> b", 5, "2005-01-02 15:04", time.Minute)},
	{"a size over 63 bits", "-rw-r--r-- 1 root root 9223372036854775808 Jan  2 15:04 n", told(0o644, "n", -1, "2005-01-02 15:04", time.Minute)},
	{"today", "-rw-r--r-- 1 root root 5 Jun 15 23:59 n", told(0o644, "n", 5, "2005-06-15 23:59", time.Minute)},
	{"within the tolerance", "-rw-r--r-- 1 root root 5 Jun 16 12:00 n", told(0o644, "n", 5, "2005-06-16 12:00", time.Minute)},
	{"after the tolerance", "-rw-r--r-- 1 root root 5 Jun 16 12:01 n", told(0o644, "n", 5, "2004-06-16 12:01", time.Minute)},
	{"a leap day", "-rw-r--r-- 1 root root 5 Feb 29 12:01 n", told(0o644, "n", 5, "2004-02-29 12:01", time.Minute)},
	{"FileZilla: Connect:Enterprise", "-C--E-----FTP B BCC3I1       7670  1294495 Jan 13 07:42 ConEnt file", plain(0, "ConEnt file", 1294495, "2005-01-13 07:42", time.Minute)},
	// NetWare.
	{"ftpparse", "d [R----F--] supervisor            512       Jan 16 18:53    login", plain(fs.ModeDir, "login", -1, "2005-01-16 18:53", time.Minute)},
	{"ftpparse", "- [R----F--] rhesus             214059       Oct 20 15:27    cx.exe", plain(0, "cx.exe", 214059, "2004-10-20 15:27", time.Minute)},
	{"Indy", "-[R----F-]  1 raj           857 Feb 23  2000 !info!", plain(0, "!info!", 857, "2000-02-23", day)},
	// DOS.
	{"IIS", "01-02-06  03:04PM       <DIR>          name", plain(fs.ModeDir, "name", -1, "2006-01-02 15:04", time.Minute)},
	{"FileZilla: IIS", "04-14-00  03:47PM                  589 DOS file 1", plain(0, "DOS file 1", 589, "2000-04-14 15:47", time.Minute)},
	{"IIS, years of four digits", "10-20-2003  12:04AM                    5  lead", plain(0, " lead", 5, "2003-10-20 00:04", time.Minute)},
	{"IIS, last century", "12-05-96  05:03PM       <DIR>            two", plain(fs.ModeDir, "  two", -1, "1996-12-05 17:03", time.Minute)},
	{"FileZilla", "2002-09-02  18:48       <DIR>          DOS dir 2", plain(fs.ModeDir, "DOS dir 2", -1, "2002-09-02 18:48", time.Minute)},
	{"FileZilla", "2002-09-02  19:06                9,730 DOS file 2", plain(0, "DOS file 2", 9730, "2002-09-02 19:06", time.Minute)},
	{"palmos-sdk", "03/08/2000  12:24p           51,346,952  Projects", plain(0, " Projects", 51346952, "2000-03-08 12:24", time.Minute)},
	{"a day that cannot be a month", "26.04.2001  12:09 5 n", plain(0, "n", 5, "2001-04-26 12:09", time.Minute)},
	{"Windows", "01-02-06  03:04PM       <SYMLINKD>     n", plain(link, "n", -1, "2006-01-02 15:04", time.Minute)},
	// OS/2.
	{"FileZilla", "36611      A    04-23-103   10:57  OS2 test1.file", plain(0, "OS2 test1.file", 36611, "2003-04-23 10:57", time.Minute)},
	{"FileZilla", "    0 DIR       02-11-103   16:15  OS2 test1.dir", plain(fs.ModeDir, "OS2 test1.dir", -1, "2003-02-11 16:15", time.Minute)},
	{"FileZilla", " 1123 DIR  A    10-05-100   23:38  OS2 test2.dir", plain(fs.ModeDir, "OS2 test2.dir", -1, "2000-10-05 23:38", time.Minute)},
	// EPLF.
	{"cr.yp.to/ftp/list/eplf.html", "+i8388621.48594,m825718503,r,s280,\tdjb.html", plain(0, "djb.html", 280, "1996-03-01 22:15:03", time.Second).inUTC().id("8388621.48594")},
	{"cr.yp.to/ftp/list/eplf.html", "+i8388621.50690,m824255907,/,\t514", plain(fs.ModeDir, "514", -1, "1996-02-13 23:58:27", time.Second).inUTC().id("8388621.50690")},
	{"FileZilla", "+i8388621.48594,m825718503,r,s280,up755\t14-eplf file", told(0o755, "14-eplf file", 280, "1996-03-01 22:15:03", time.Second).inUTC().id("8388621.48594")},
	// VMS.
	{"ftpparse: MultiNet", "00README.TXT;1      2 30-DEC-1996 17:44 [SYSTEM] (RWED,RWED,RE,RE)", plain(0, "00README.TXT;1", -1, "1996-12-30 17:44", time.Minute)},
	{"ftpparse: MultiNet", "CORE.DIR;1          1  8-SEP-1996 16:09 [SYSTEM] (RWE,RWE,RE,RE)", plain(fs.ModeDir, "CORE", -1, "1996-09-08 16:09", time.Minute)},
	{"ftpparse", "CII-MANUAL.TEX;1  213/216  29-JAN-1996 03:33:12 [ANONYMOU,ANONYMOUS] (RWED,RWED,,)", plain(0, "CII-MANUAL.TEX;1", -1, "1996-01-29 03:33:12", time.Second)},
	{"FileZilla", "vms_file_3;1       155   2-JUL-2003 10:30:13.64", plain(0, "vms_file_3;1", -1, "2003-07-02 10:30:13.64", 10*time.Millisecond)},
	{"FileZilla", "vms_dir_2.DIR;1  1 19-NOV-2001 [root,root] (RWE,RWE,RE,RE)", plain(fs.ModeDir, "vms_dir_2", -1, "2001-11-19", day)},
	// z/OS.
	{"FileZilla", "  WYOSPT 3420   2003/05/21  1  200  FB      80  8053  PS  48-MVS.FILE", plain(0, "48-MVS.FILE", -1, "", 0)},
	{"FileZilla", "  WPTA01 3290   2004/03/04  1    3  FB      80  3125  PO  49-MVS.DATASET", plain(fs.ModeDir, "49-MVS.DATASET", -1, "", 0)},
	{"FileZilla", "  NRP004 3390   **NONE**    1   15  NONE     0     0  PO  52-MVS-NONEDATE.DATASET", plain(fs.ModeDir, "52-MVS-NONEDATE.DATASET", -1, "", 0)},
	{"FileZilla", "  TSO004 3390   VSAM 50-mvs-file", plain(unknown, "50-mvs-file", -1, "", 0)},
	{"zos-node-accessor", "XRFS79 3390   2017/08/04  1 4080  FB    1024 27648  PS  'USERHLQI.T1.HISPAXZ'", plain(0, "USERHLQI.T1.HISPAXZ", -1, "", 0)},
	{"Sqoop", "H19761 Tape                                             G0034V00", plain(unknown, "G0034V00", -1, "", 0)},
	{"FileZilla", "Migrated\t\t\t\tSOME.FILE", plain(unknown, "SOME.FILE", -1, "", 0)},
	{"z/OS", "Pseudo Directory                                        ALICE.PROJECTS", plain(fs.ModeDir, "ALICE.PROJECTS", -1, "", 0)},
	{"FileZilla", "  MEMBER53 01.01 2004/06/22 2004/06/23 16:32   128   128    0 BOBY12", plain(0, "MEMBER53", -1, "2004-06-23 16:32", time.Minute)},
	// OS/400.
	{"FileZilla", "QSYS            77824 02/23/00 15:09:55 *DIR IBM AS/400 Dir1/", plain(fs.ModeDir, "IBM AS/400 Dir1", -1, "2000-02-23 15:09:55", time.Second)},
	{"palmos-sdk", "MUELLERJ      1282232 01/18/06 11:40:23 *STMF      PARCELST.TXT", plain(0, "PARCELST.TXT", 1282232, "2006-01-18 11:40:23", time.Second)},
	{"palmos-sdk: day or month", "QSYS            12288 07/07/06 23:24:53 *DIR       tmp/", plain(fs.ModeDir, "tmp", -1, "2006-07-07 23:24:53", time.Second)},
	{"palmos-sdk: day or month", "QSYS             2272 07/05/06 06:08:14 *DDIR      QFileSvr.400/", plain(fs.ModeDir, "QFileSvr.400", -1, "", 0)},
	{"palmos-sdk", "ROOT         21147648 05/29/08 10:16:58 *FILE      AMSAVF.SAVF", plain(unknown, "AMSAVF.SAVF", -1, "2008-05-29 10:16:58", time.Second)},
	{"palmos-sdk", "ROOT                                    *MEM       CYN_COLLEC.FILE/SH.MBR", plain(0, "CYN_COLLEC.FILE/SH.MBR", -1, "", 0)},
}

func TestLIST(t *testing.T) {
	for _, test := range listLines {
		got, err := LIST(test.line, now)
		if err != nil || got != test.want {
			t.Errorf("%s: %q\n got %+v, %v\nwant %+v", test.source, test.line, got, err, test.want)
		}
	}
}

// One line has one format: no other would read it differently.
func TestFormatsDoNotOverlap(t *testing.T) {
	for _, test := range listLines {
		n := 0
		if _, ok := unix(test.line, now); ok {
			n++
		}
		for _, format := range formats {
			if found := format.pattern().FindStringSubmatch(test.line); found != nil {
				if _, ok := format.read(found); ok {
					n++
				}
			}
		}
		if n != 1 {
			t.Errorf("%d formats match %q", n, test.line)
		}
	}
}

func TestNoEntry(t *testing.T) {
	for _, line := range []string{"", " ", "total 0", "total 14786", "insgesamt 12", "total 4.5K", "Directory DISK$PCSA:[ANONYM]", "Total of 11 Files, 10966 Blocks.",
		"Volume Unit    Referred Ext Used Recfm Lrecl BlkSz Dsorg Dsname", " Name     VV.MM   Created       Changed      Size  Init   Mod   Id",
		"drwxr-xr-x    2 0        0            4096 Jun 15 03:04 .", "drwxr-xr-x    2 0        0            4096 Jun 15 03:04 .."} {
		if got, err := LIST(line, now); !errors.Is(err, ErrNoEntry) {
			t.Errorf("LIST(%q): got %+v, %v, want ErrNoEntry", line, got, err)
		}
	}
	for _, line := range []string{"Type=cdir;Perm=el;Unique=keVO1+ZF4; test", "Type=pdir;Perm=e;Unique=keVO1+d?3; ..", "type=dir; ."} {
		if got, err := MLSD(line); !errors.Is(err, ErrNoEntry) {
			t.Errorf("MLSD(%q): got %+v, %v, want ErrNoEntry", line, got, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, line := range []string{"name", "a b c", "ls: .: Permission denied", "total", "drwxr-xr-x", "drwxr-xr-x 2 ftp ftp 4096 Jan  2 15:04", "drwxr-xr-x 2 ftp ftp 4096 Jan  2 15:04 ",
		"drwxr-xr-x 2 ftp ftp 4096 Feb 30  2003 n", "-rw-r--r-- 1 ftp ftp 4096 Jan  2 24:04 n", "-rw-r--r-- 1 ftp ftp 4096 n", "Zrwxrwxrwx 1 root other 7 Jan 25 00:17 n",
		"lrwxrwxrwx 1 0 0 7 Jan 25 00:17  -> n", "13-13-06  03:04PM <DIR> n", "01-02-06  13:04PM <DIR> n", "+i8388621.48594,m825718503", "X.TXT;1", "-rw-r--r-- 1 root root 5 2003-09-26 n"} {
		if got, err := LIST(line, now); !errors.Is(err, ErrUnknown) {
			t.Errorf("LIST(%q): got %+v, %v, want ErrUnknown", line, got, err)
		}
	}
	for _, line := range []string{"", " ", "name", "a b", "type=file;", "type=file;size=1", "type=file; ", "-rw-r--r-- 1 root root 5 Jan  2 15:04 n"} {
		if got, err := MLSD(line); !errors.Is(err, ErrUnknown) {
			t.Errorf("MLSD(%q): got %+v, %v, want ErrUnknown", line, got, err)
		}
	}
}

func TestLines(t *testing.T) {
	for _, test := range []struct{ lines, want []string }{
		{nil, nil},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"VMS_file_1;1", "170774/170775     24-APR-2003 08:16:15  [FTP_CLIENT,SCOT]      (RWED,RWED,RE,)", "b"},
			[]string{"VMS_file_1;1 170774/170775     24-APR-2003 08:16:15  [FTP_CLIENT,SCOT]      (RWED,RWED,RE,)", "b"}},
		{[]string{"a;1", "b;1", "c;1"}, []string{"a;1", "b;1", "c;1"}},
	} {
		if got := Lines(test.lines); !slices.Equal(got, test.want) {
			t.Errorf("Lines(%q) = %q, want %q", test.lines, got, test.want)
		}
	}
}

func BenchmarkMLSD(b *testing.B) {
	for b.Loop() {
		MLSD("modify=20260102030405;perm=adfr;size=12;type=file;unique=FE00U20A;UNIX.group=0;UNIX.mode=0644;UNIX.owner=0; name")
	}
}

func BenchmarkLIST(b *testing.B) {
	for b.Loop() {
		LIST("-rw-r--r--    1 0        0               7 Jan 02  2003 name", now)
	}
}

func FuzzMLSD(f *testing.F) {
	for _, test := range mlsdLines {
		f.Add(test.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		item, err := MLSD(line)
		check(t, line, item, err)
		if err == nil && !strings.HasSuffix(line, " "+item.Name) {
			t.Errorf("%q: the name %q does not follow the first space after the facts", line, item.Name)
		}
	})
}

func FuzzLIST(f *testing.F) {
	for _, test := range listLines {
		f.Add(test.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		item, err := LIST(line, now)
		check(t, line, item, err)
	})
}

// check fails if item cannot be what a line tells.
func check(t *testing.T, line string, item Item, err error) {
	t.Helper()
	if err != nil {
		if item != (Item{}) || !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNoEntry) {
			t.Errorf("%q: %+v, %v", line, item, err)
		}
		return
	}
	types := []fs.FileMode{0, fs.ModeDir, fs.ModeSymlink, fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice, fs.ModeNamedPipe, fs.ModeSocket, fs.ModeIrregular}
	for what, wrong := range map[string]bool{
		"name":      item.Name == "" || !strings.Contains(line, item.Name) || slices.Contains([]string{".", "..", "./", "../"}, item.Name),
		"target":    !strings.Contains(line, item.Target) || item.Target != "" && item.Mode&fs.ModeSymlink == 0,
		"size":      item.Size < -1 || item.Size >= 0 && item.Mode.Type() != 0 && item.Mode.Type() != fs.ModeIrregular,
		"type":      !slices.Contains(types, item.Mode.Type()),
		"mode":      !item.HasPerm && item.Mode != item.Mode.Type(),
		"precision": (item.Precision == 0) != item.Time.IsZero() || item.Precision < 0 || item.Precision > day,
		"zone":      item.UTC && item.Time.IsZero() || item.Time.Location() != time.UTC,
	} {
		if wrong {
			t.Errorf("%q: bad %s: %+v", line, what, item)
		}
	}
}

// TestMonths has the months of the C library's locales, whose abbreviations ls writes.
func TestMonths(t *testing.T) {
	for language, names := range map[string]string{
		"English":              "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
		"German":               "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
		"German in Austria":    "Jän Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
		"French":               "janv. févr. mars avril mai juin juil. août sept. oct. nov. déc.",
		"Spanish":              "ene feb mar abr may jun jul ago sep oct nov dic",
		"Italian":              "gen feb mar apr mag giu lug ago set ott nov dic",
		"Portuguese":           "jan fev mar abr mai jun jul ago set out nov dez",
		"Dutch":                "jan feb mrt apr mei jun jul aug sep okt nov dec",
		"Swedish and Danish":   "jan feb mar apr maj jun jul aug sep okt nov dec",
		"Norwegian":            "jan. feb. mars april mai juni juli aug. sep. okt. nov. des.",
		"Chinese and Japanese": "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
	} {
		for i, name := range strings.Fields(names) {
			got, err := LIST("-rw-r--r-- 1 root root 5 "+name+" 12  2003 n", now)
			if want := time.Month(i + 1); err != nil || got.Time.Month() != want {
				t.Errorf("%s: %s is %v, want %v (%v)", language, name, got.Time.Month(), want, err)
			}
		}
	}
}
