/** What a test asks of every client of other people's, and what they have in common. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ClientSystem } from '../client-system.ts'

/** Those of test/clients, which are too large to install with everything else. */
export const INSTALLED = fileURLToPath(new URL('../../clients/node_modules', import.meta.url))

export type Client = {
  /** From nothing to connected; the person is asked. */
  readonly connect: () => Promise<void>
  /** The names of the tools as it shows them to its user or its model. */
  readonly listTools: () => Promise<readonly string[]>
  /** The text that the tool answers; rejects with the client's own words when there is none. */
  readonly callTool: (tool: string, input?: Record<string, unknown>) => Promise<string>
  /** Closed for so long and started again: what it keeps is that much older. */
  readonly pause: (seconds: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Where a client keeps its things, the server it connects to, and the person who uses it. */
export type Place = { readonly home: string; readonly system: ClientSystem; readonly person: Person }

/** The person in front of a client: opens the addresses that it shows and allows what is asked. */
export type Person = {
  /** Reads what a program says; the answer goes to the address at which the program waits for it. */
  readonly hear: (text: string) => void
  /** Where the browser is sent in the end; undefined when nobody answers. */
  readonly answer: (authorizationUrl: string) => Promise<URL | undefined>
  /** How often they were asked. */
  readonly asked: () => number
  /** From now on they do not answer; `asked` is called whenever they are asked. */
  readonly leave: (asked: () => void) => void
}

/** To the end of the line, of the quotation, or of the link in a terminal. */
const ADDRESS = /http:[^\s"'\p{Cc}]+\/oauth\/authorize\?[^\s"'\p{Cc}]+(?=[\s"'\p{Cc}])/gu

export function newPerson(system: Pick<ClientSystem, 'approve'>): Person {
  const asked = new Set<string>()
  let whenAway: (() => void) | undefined
  let heard = ''

  async function answer(address: string): Promise<URL | undefined> {
    asked.add(address)
    if (!whenAway) return system.approve(address)
    whenAway()
    return undefined
  }

  return {
    answer,
    hear(text) {
      heard += text
      for (const [address] of heard.matchAll(ADDRESS)) {
        // A program may show one address several times.
        if (!asked.has(address)) void answer(address).then((to) => to && deliver(to))
      }
    },
    asked: () => asked.size,
    leave: (whenAsked) => void (whenAway = whenAsked),
  }
}

/** A program may say where to go before it listens for the answer, and a browser would be slower than we are. */
export async function deliver(answer: URL): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await fetch(answer)
      return
    } catch (error) {
      if (attempt === 100) throw error
      await sleep(100)
    }
  }
}

/** Moves every moment at which a token ends, wherever below the folder a program keeps it: in JSON, or JSON within JSON. */
export async function makeOlder(home: string, seconds: number): Promise<void> {
  for (const name of await readdir(home, { recursive: true })) {
    if (!name.endsWith('.json')) continue
    const path = join(home, name)
    const kept = await readFile(path, 'utf8')
    const older = kept.replaceAll(
      /(\\?"(?:expires_at|expiresAt)\\?"\s*:\s*)(\d+)/g,
      (_whole, key: string, at: string) =>
        // Seconds, or milliseconds.
        key + String(Number(at) - (at.length > 11 ? seconds * 1000 : seconds)),
    )
    if (older !== kept) await writeFile(path, older)
  }
}

/** A tool's answer is one text; an error of the tool is thrown. */
export function textIn(result: unknown): string {
  const { content, isError } = result as { content: { text: string }[]; isError?: boolean }
  const text = content[0]?.text ?? ''
  if (isError) throw new Error(text)
  return text
}
