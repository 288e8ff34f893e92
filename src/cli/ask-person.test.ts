/** Questions at a terminal, one after the other. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { fakeMachine } from '../../test/support/fake-machine.ts'
import { readAnswer, readSecret } from './ask-person.ts'
import { Interrupted } from './usage.ts'
import type { World } from './world.ts'

function atTerminal() {
  const raw: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => raw.push(on) })
  const machine = { ...fakeMachine({ terminal: true }), stdin }
  return { world: { machine } as unknown as World, stdin, raw, said: machine.err }
}

/** The first question pauses the terminal; a second one that waits for it in vain ends the program without a word. */
test('a secret can be asked for after an answer, and is hidden before the question is there', async () => {
  const { world, stdin, raw, said } = atTerminal()
  const address = readAnswer(world, 'Address: ')
  stdin.write('http://localhost\n')
  expect(await address).toBe('http://localhost')
  const secret = readSecret(world, 'Token: ')
  expect(raw).toEqual([true])
  stdin.write('svc_ab')
  stdin.write('x\u007fc\r')
  expect(await secret).toBe('svc_abc')
  expect(raw).toEqual([true, false])
  expect(said()).toBe('Address: Token: \n')
})

test('Ctrl-C gives the terminal back', async () => {
  const { world, stdin, raw } = atTerminal()
  const secret = readSecret(world, 'Token: ')
  stdin.write('svc_\u0003')
  await expect(secret).rejects.toBeInstanceOf(Interrupted)
  expect(raw).toEqual([true, false])
})
