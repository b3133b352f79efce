// A server of Go's own: /?3 answers after three seconds. HANDLER=shutdown handles SIGTERM.
package main

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	server := &http.Server{
		Addr: "127.0.0.1:" + os.Getenv("PORT"),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seconds, _ := strconv.ParseFloat(r.URL.RawQuery, 64)
			time.Sleep(time.Duration(seconds * float64(time.Second)))
			w.Write([]byte("ok"))
		}),
	}
	done := make(chan struct{})
	if os.Getenv("HANDLER") == "shutdown" {
		go func() {
			stop := make(chan os.Signal, 1)
			signal.Notify(stop, syscall.SIGTERM)
			<-stop
			server.Shutdown(context.Background())
			close(done)
		}()
	} else {
		close(done)
	}
	server.ListenAndServe()
	<-done
}
