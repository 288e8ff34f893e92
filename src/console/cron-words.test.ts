import { expect, test } from 'vitest'
import { cronWords } from './cron-words.ts'

test.each([
  ['0 3 * * *', 'Every day at 03:00'],
  ['5 0 * * *', 'Every day at 00:05'],
  ['30 2,14 * * *', 'Every day at 02:30 and 14:30'],
  ['0 3 * * 1-5', 'Monday to Friday at 03:00'],
  ['0 3 * * MON,Wed,7', 'Every Monday, Wednesday and Sunday at 03:00'],
  ['0 3 1 * *', 'On day 1 of every month at 03:00'],
  ['*/15 * * * *', 'Every 15 minutes'],
  ['7 * * * *', 'Every hour at minute 7'],
  ['0 */6 * * *', 'Every 6 hours at minute 0'],
  ['@daily', 'Every day at 00:00'],
  ['@weekly', 'Every Sunday at 00:00'],
])('%s: %s', (expression, words) => expect(cronWords(expression)).toBe(words))

/** Words that are not quite true are worse than none. */
test.each([
  '0 3 * 6 *',
  '0 3 1 * 1',
  '0 3 * * 1#2',
  '0 3 L * *',
  '0-9 3 * * *',
  '0 3',
  '',
  '@reboot',
  '61 3 * * *',
  '0 3 * * 1-3-5',
])('%s: as it is written', (expression) => expect(cronWords(expression)).toBeUndefined())
