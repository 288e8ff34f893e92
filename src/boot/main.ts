/** The entry point of the server: enables the compile cache, begins with what takes longest, then loads the program. */
import { keepCompiledCode } from '../../db/compile-cache.ts'
import { loadEngineAhead } from '../../db/engine-thread.ts'
import { isEngineLikely } from './likely-engine.ts'

// Stripping the types of all our files takes 0.6 s without it, 0.2 s with it.
keepCompiledCode()
// Most likely needed: `start` lets it go where it is not.
if (isEngineLikely(process.argv.slice(2), process.env)) loadEngineAhead()
await import('./program.ts')
