import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** A servlet: /?3 answers after three seconds. */
public class App extends HttpServlet {
    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        String query = request.getQueryString();
        try {
            Thread.sleep((long) (1000 * Double.parseDouble(query == null ? "0" : query)));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        response.setContentLength(2);
        response.getWriter().write("ok");
    }
}
