"""csv_errors.py EDLC FOLDER: tables with one mistake each. It is the only one
that is named, at its place and with the line and a caret; the exit status is
1, and nothing is written."""
import os
import subprocess
import sys

edlc, folder = sys.argv[1:3]
# What both readers refuse; %h stands for a head, %r for a row, of the kind.
BOTH = [
    ("", "1:1: error: expected a head line with the names of columns"),
    ("\ufeff", "1:1: error: expected a head line with the names of columns"),
    ("\n\r\n", "1:1: error: expected a head line with the names of columns"),
    ("%h\n%r,7\n", "2:11: error: expected 4 cells as in the head, found 5"),
    ("%h\n%r\n\nx,2\n", "4:3: error: expected 4 cells as in the head, found 2"),
    ("%h\r\n%r\r\n\"x,1,2,3\r\n",
     "3:1: error: the quote that begins here does not end on its line"),
    ("%h\n%r\n\"x\"y,1,2,3\n", "3:4: error: expected a comma or the end"),
    ("%h\n%r\nx\"y,1,2,3\n", "3:2: error: expected no quote within a cell"),
    ("%h\n%r\nx,1,\x002,3\n",
     "3:5: error: expected text, found the control character 0"),
    ("%h\n%r\rx,1,2,3\n",
     "2:10: error: expected text, found the control character 13"),
    (b"%h\n%r\n\xe9,1,2,3\n", "3:1: error: expected UTF-8"),
    ("%h,y,y\n%r,1,1\n", "1:{y}: error: a second column `y`"),
]
PACK = [
    ("id,lower,size\n", "1:1: error: expected a column `upper`"),
    ("id,lower,upper,size,gaps\n", "1:21: error: buffers that differ in"),
    ("id,lower,upper,size\n0,1,2,3\n1,5,4,3\n",
     "3:3: error: lower must be below upper"),
    ("id,lower,upper,size\n0,3,3,3\n", "2:3: error: lower must be below upper"),
    ("id,lower,upper,size\n0,1,2,9999999999999999999\n",
     "2:7: error: the number is too large for size: 9999999999999999999"),
    ("id,lower,upper,size\nä ö, 1 , 2 , 3.5 \n",
     "2:14: error: expected a whole number as size, found '3.5'"),
    ("id,lower,upper,size\n0,,2,3\n",
     "2:3: error: expected a whole number as lower, found ''"),
    ("id,lower,upper,size\n0,1,2,+3\n",
     "2:7: error: expected a whole number as size, found '+3'"),
    ("id,lower,upper,size\n0,1,2,0\n", "2:7: error: size must be above 0"),
    ("id,lower,upper,size\n0,1,2,-4\n", "2:7: error: size must be above 0"),
    ("id,lower,upper,size\n0,1,2,2305843009213693951\n1,1,2,1\n",
     "3:7: error: the sum of the sizes is too large"),
    ("id,lower,upper,size\nab,1,2,3\nc,1,2,3\n\"ab\",5,6,3\n",
     "4:1: error: a second buffer 'ab'"),
]
PLAN = [
    ("name,time,bytes\nx,1,2\n", "1:1: error: expected a column `inputs`"),
    ("name,time,bytes,inputs\n", "1:1: error: expected rows below the head"),
    ("name,time,bytes,inputs\na,1,2,\nb,1,2,a\na,1,2,b\n",
     "4:1: error: a second node `a`"),
    ("name,time,bytes,inputs\na b,1,2,\n",
     "2:1: error: expected a name without blanks, found 'a b'"),
    ("name,time,bytes,inputs\n,1,2,\n",
     "2:1: error: expected a name without blanks, found ''"),
    ("name,time,bytes,inputs\na,-1,2,\n", "2:3: error: expected a number"),
    ("name,time,bytes,inputs\na,1,nan,\n", "2:5: error: expected a number"),
    ("name,time,bytes,inputs\na,1e400,1,\n", "2:3: error: expected a number"),
    ("name,time,bytes,inputs\na,1,,\n", "2:5: error: expected a number"),
    ("name,time,bytes,inputs\na,1,4e15,\nb,1,1,\n",
     "3:5: error: expected a number"),
    ("name,time,bytes,inputs\na,1,2,a\n", "2:7: error: expected inputs from"),
    ("name,phase,time,bytes,inputs\na,foward,1,2,\n",
     "2:3: error: expected forward, loss, backward or update as phase"),
]
KINDS = [(["pack"], PACK, b"id,lower,upper,size", b"a,1,2,300"),
         (["plan"], PLAN, b"name,time,bytes,inputs", b"b,10,20, ")]
path = os.path.join(folder, "t.csv")
order = os.path.join(folder, "order.txt")
for command, own, head, row in KINDS:
    for text, expected in BOTH + own:
        raw = text if isinstance(text, bytes) else text.encode()
        with open(path, "wb") as f:
            f.write(raw.replace(b"%h", head).replace(b"%r", row))
        extra = [f"--order={order}"] if command == ["plan"] else []
        r = subprocess.run([edlc, *command, path, *extra],
                           capture_output=True, text=True)
        expected = expected.replace("{y}", str(len(head) + 4))
        found = f"{command[0]} {text!r}: {r.returncode}\n{r.stdout}{r.stderr}"
        assert r.returncode == 1 and not r.stdout, found
        assert not os.path.exists(order), found
        assert r.stderr.startswith(f"{path}:{expected}"), found
        assert r.stderr.count("error:") == 1, found
        assert "^" in r.stderr.split("\n")[2], found
