package example.rooms;

import java.util.logging.Logger;

public final class BookingController {
    private static final Logger LOG = Logger.getLogger("rooms");
    private final BookingStore store;
    private final Availability availability = new Availability();

    public BookingController(BookingStore store) {
        this.store = store;
    }

    public void book(Booking wanted) {
        var taken = store.of(wanted.room());
        if (!availability.isFree(taken, wanted.start(), wanted.end())) {
            throw new RoomTaken(wanted.room());
        }
        store.add(wanted);
        LOG.info("room " + wanted.room() + " booked");
    }
}
