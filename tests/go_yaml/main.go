// Reads YAML documents from stdin and writes what Kubernetes' own library reads in each, as JSON.
// Each document comes as its length (four bytes, big endian) and its bytes; each answer is sent the
// same way, and is empty where the library refuses the document.
package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	head := make([]byte, 4)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		text := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(in, text); err != nil {
			return
		}
		answer := convert(text)
		binary.BigEndian.PutUint32(head, uint32(len(answer)))
		out.Write(head)
		out.Write(answer)
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

func convert(text []byte) (answer []byte) {
	defer func() {
		if recover() != nil { // the library panics on some documents
			answer = nil
		}
	}()
	found, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil
	}
	return found
}
