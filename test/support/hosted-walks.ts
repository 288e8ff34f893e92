/** Around each test that runs with hosted auth: exceptions are left out, and no answer may be a failure of ours. */
import { afterEach, beforeEach } from 'vitest'
import { exceptionFor, FAILURES, TESTS } from '../hosted-exceptions.ts'
import { takeFailures } from './seen-failures.ts'

beforeEach((context) => {
  const reason = exceptionFor(TESTS, context.task)
  if (reason !== undefined) context.skip(reason)
})

afterEach(({ task }) => {
  const failures = takeFailures()
  if (failures.length > 0 && exceptionFor(FAILURES, task) === undefined)
    throw new Error(`Failures of ours: ${failures.join(', ')}`)
})
