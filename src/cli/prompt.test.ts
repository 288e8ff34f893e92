/** Questions at a terminal, one after the other. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { fakeEnvironment } from '../../test/support/fake-environment.ts'
import type { CommandContext } from './command-context.ts'
import { promptLine, promptSecret } from './prompt.ts'
import { Interrupted } from './usage-error.ts'

function atTerminal() {
  const raw: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => raw.push(on) })
  const environment = { ...fakeEnvironment({ terminal: true }), stdin }
  return { ctx: { environment } as unknown as CommandContext, stdin, raw, stderr: environment.err }
}

/** The first question pauses the terminal; a second one that waits for it in vain ends the program without a word. */
test('a secret can be asked for after an answer, and is hidden before the question is there', async () => {
  const { ctx, stdin, raw, stderr } = atTerminal()
  const address = promptLine(ctx, 'Address: ')
  stdin.write('http://localhost\n')
  expect(await address).toBe('http://localhost')
  const secret = promptSecret(ctx, 'Token: ')
  expect(raw).toEqual([true])
  stdin.write('svc_ab')
  stdin.write('x\u007fc\r')
  expect(await secret).toBe('svc_abc')
  expect(raw).toEqual([true, false])
  expect(stderr()).toBe('Address: Token: \n')
})

test('Ctrl-C gives the terminal back', async () => {
  const { ctx, stdin, raw } = atTerminal()
  const secret = promptSecret(ctx, 'Token: ')
  stdin.write('svc_\u0003')
  await expect(secret).rejects.toBeInstanceOf(Interrupted)
  expect(raw).toEqual([true, false])
})
