package bikes

import java.io.IOException

class Answers(private val log: Log) {
    fun send(answer: Answer, socket: Socket) {
        try {
            // Clients hang up.
            socket.write(answer.bytes)
        } catch (gone: IOException) {
            log.warn("client gone", gone)
        }
    }
}
