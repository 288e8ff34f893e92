package cinema;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

final class PayOffice {
  private static final Logger LOG = LoggerFactory.getLogger(PayOffice.class);
  private final HttpClient client = HttpClient.newHttpClient();

  void charge(Order order) {
    for (int attempt = 1; ; attempt++) {
      try {
        client.send(request(order), HttpResponse.BodyHandlers.discarding());
        return;
      } catch (IOException e) {
        LOG.error("Payment office cannot be reached, attempt {}", attempt, e);
        Pause.before(attempt);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private HttpRequest request(Order order) {
    return HttpRequest.newBuilder(URI.create("https://pay.test/" + order.id())).build();
  }
}
