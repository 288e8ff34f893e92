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

test('a database is removed when that is confirmed, and by its name', async () => {
  const remove = (...more: string[]) =>
    svcWith({ removeDatabase: {} }, ['db', 'remove', 'shop', ...more], { cwd: '/' })
  const asked = await remove()
  expect([asked.exit, asked.err, asked.sent]).toEqual([5, expect.stringContaining('Add --yes'), {}])
  const done = await remove('--yes')
  expect([done.exit, done.err]).toEqual([0, 'Removed shop\n'])
  expect(done.sent.removeDatabase!.url).toMatch(/\/shop\?confirm=shop$/)
})
