/** The files of a new managed database: an empty one with the extension `vector`. */
import { unpackManagedTemplate } from '../template.ts'
import { ResponseReader, simpleQuery } from '../wire/protocol-messages.ts'
import { buffersFor } from './buffers.ts'
import { startEngine } from './database-engine.ts'

/** Into an empty folder. */
export async function makeDatabase(folder: string): Promise<void> {
  if (!(await unpackManagedTemplate(folder))) await addVector(folder)
}

/** In an empty folder the engine creates a database first. */
export async function addVector(folder: string): Promise<void> {
  const engine = await startEngine(folder, await buffersFor(folder))
  try {
    const answer = new ResponseReader()
    const statement = simpleQuery('create extension if not exists vector')
    await engine.run({ bytes: statement, complete: true }, (bytes, taken) => {
      answer.read(bytes)
      taken()
    })
    if (answer.failure) throw answer.failure
  } finally {
    await engine.stop()
  }
}
