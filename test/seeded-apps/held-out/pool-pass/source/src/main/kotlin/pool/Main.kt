package pool

fun main() {
    val gates = (1..3).map { Gate(it, Reader("/dev/card$it")) }
    gates.map { it.watch() }.forEach { it.join() }
}
