package pool

import kotlin.concurrent.thread

class Gate(private val number: Int, private val cards: Iterator<String>) {
    fun open(card: String): Boolean {
        val pass = readPass(card)
        if (pass.visits == 0) {
            println("INFO gate $number: pass of ${pass.holder} is used up")
            return false
        }
        println("INFO gate $number: opened")
        return true
    }

    fun watch() = thread(name = "gate-$number") {
        for (card in cards) open(card)
    }
}
