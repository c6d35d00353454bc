import jakarta.servlet.ServletException;
import java.io.IOException;
import java.util.List;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;

/** Lets users in alone. */
final class Tokens extends ValveBase {
    private final List<String> users;

    Tokens(List<String> users) {
        super(true);
        this.users = users;
    }

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
        if (users.contains(Server.user(request))) {
            getNext().invoke(request, response);
        } else {
            response.sendError(401);
        }
    }
}
