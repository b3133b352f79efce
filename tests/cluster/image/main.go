// The programs of the test images: a pause, and an HTTP server that logs its signals.
//
// GET /?1.5 answers with the pod's name after 1.5 seconds. What happens is written to LOG, a line each, with the time.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func log(event string) {
	file, err := os.OpenFile(os.Getenv("LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		fmt.Fprintf(file, "%s %.3f\n", event, float64(time.Now().UnixMicro())/1e6)
		file.Close()
	}
}

func main() {
	if filepath.Base(os.Args[0]) == "pause" {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
		<-stop
		return
	}
	mode := flag.String("mode", "graceful", "graceful, ignore or abrupt: at the stop signal")
	port := flag.String("port", "8080", "the port")
	start := flag.Duration("start", 0, "the time until it listens")
	flaps := flag.Duration("flaps", 0, "readiness changes so often")
	answers := flag.Duration("answers", 0, "the length of a request that names none")
	flag.Parse()
	name, _ := os.Hostname()
	time.Sleep(*start)
	began := time.Now()
	handler := http.NewServeMux()
	handler.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) {
		if *flaps > 0 && int(time.Since(began) / *flaps)%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	handler.HandleFunc("/fails", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	handler.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		wait := *answers
		if seconds, err := strconv.ParseFloat(r.URL.RawQuery, 64); err == nil {
			wait = time.Duration(seconds * float64(time.Second))
		}
		time.Sleep(wait)
		fmt.Fprint(w, name)
	})
	server := &http.Server{Addr: ":" + *port, Handler: handler}
	stop, done := make(chan os.Signal, 4), make(chan struct{})
	if *mode != "abrupt" {
		signal.Notify(stop, syscall.SIGTERM)
	}
	go func() {
		for range stop {
			log("signal")
			if *mode == "graceful" {
				server.Shutdown(context.Background())
				close(done)
				return
			}
		}
	}()
	log("start")
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log(err.Error())
		os.Exit(3)
	}
	<-done
	log("exit")
}
