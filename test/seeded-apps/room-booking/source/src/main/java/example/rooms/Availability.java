package example.rooms;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

public final class Availability {
    private static final Duration CLEANING = Duration.ofMinutes(15);

    public boolean isFree(List<Booking> bookings, Instant from, Instant until) {
        return bookings.stream()
            .noneMatch(booking -> booking.start().isBefore(until)
                && booking.end().plus(CLEANING).isAfter(from));
    }
}
