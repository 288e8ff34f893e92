import { expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'

const EVIL = 'x\u001b]52;c;cm0gLXJm\u0007'
const SHOWN = String.raw`x\u001b]52;c;cm0gLXJm\u0007`

/** Threat: what stands in somebody's database reaches the terminal as commands. */
test('what the server says of a database is shown, not executed', async () => {
  const health = { checked_at: null, last_error: null, problems: [{ text: `column ${EVIL} is missing` }] }
  const answers = { showDataSource: { source_id: 'db_shop', health }, showConnectionString: { url: EVIL } }
  const shown = await svcWith(answers, ['db', 'show', 'shop'], { cwd: '/' })
  expect(shown.err).toBe(`column ${SHOWN} is missing\n`)
  const connection = await svcWith(answers, ['db', 'connect', 'shop', '--quiet'], { cwd: '/' })
  expect(connection.out).toBe(`${SHOWN}\n`)
})
