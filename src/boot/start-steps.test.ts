import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { logDisplay, startSteps, terminalDisplay } from './start-steps.ts'
import { createLogger } from '../observe/log.ts'

function terminal() {
  let seen = ''
  const display = terminalDisplay((text) => (seen += text))
  return { display, steps: startSteps(display), seen: () => seen.replaceAll(/\d+\.\d s/g, '0.0 s') }
}

test('a first start shows each step when it begins, and how long it took', async () => {
  const { steps, seen } = terminal()
  steps.showAll()
  const made = steps.run('Making the database', () => sleep(5, 'made'))
  expect(seen()).toBe('Making the database … ')
  expect(await made).toBe('made')
  await steps.run('Starting the services', async () => {})
  expect(seen()).toBe('Making the database … 0.0 s\nStarting the services … 0.0 s\n')
})

test('a line of the log stands on a line of its own', async () => {
  const { display, steps, seen } = terminal()
  steps.showAll()
  await steps.run('Starting the services', async () => {
    display.print('migrations applied\n')
    display.print('and more\n')
  })
  display.print('ready\n')
  expect(seen()).toBe(
    'Starting the services … \nmigrations applied\nand more\nStarting the services … 0.0 s\nready\n',
  )
})

test('a later start is silent, unless a step is slow', async () => {
  const { display, seen } = terminal()
  const steps = startSteps(display, 20)
  await steps.run('Opening the database', async () => {})
  expect(seen()).toBe('')
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = steps.run('Starting the services', () => promise)
  expect(seen()).toBe('')
  while (seen() === '') await sleep(5)
  expect(seen()).toBe('Starting the services … ')
  resolve()
  await slow
  expect(seen()).toBe('Starting the services … 0.0 s\n')
})

test('a step that fails ends its line; the reason follows on stderr', async () => {
  const { steps, seen } = terminal()
  steps.showAll()
  const failed = steps.run('Making the database', () => Promise.reject(new Error('no space')))
  await expect(failed).rejects.toThrow('no space')
  expect(seen()).toBe('Making the database … failed\n')
})

test('without a terminal the steps are lines of the log', async () => {
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    pretty: false,
    write: (line) => lines.push(line),
    clock: () => new Date(),
  })
  const steps = startSteps(logDisplay(log))
  steps.showAll()
  await steps.run('Making the database', async () => {})
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { event: 'start step', step: 'Making the database' },
    { event: 'start step done', step: 'Making the database', ms: expect.any(Number) as number },
  ])
})
