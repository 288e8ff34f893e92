/** Benches of a process: its start, its rest, its memory and the model in it. */
import { PROCESSES, testBenches } from '../support/benches.ts'

testBenches(PROCESSES)
