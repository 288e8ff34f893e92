/** Benches of what the worker does, and of several processes. */
import { testBenches, WORK } from '../support/benches.ts'

testBenches(WORK)
