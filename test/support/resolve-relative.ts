/**
 * Our own modules import each other by the path of a file: where that leads needs no look at the file system, no package.json
 * and no message to Vitest, which keeps a graph for its watch mode. A worker has five thousand such imports.
 */
import { registerHooks } from 'node:module'

const BY_PATH = /^\.\.?\/.*\.ts$/
const REGISTERED = Symbol.for('svc.resolve-relative')

/** As a setup file it is evaluated for each test file of a worker. */
if (!(REGISTERED in globalThis)) {
  Object.defineProperty(globalThis, REGISTERED, { value: true })
  registerHooks({
    resolve: (specifier, context, next) =>
      context.parentURL && BY_PATH.test(specifier)
        ? { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
        : next(specifier, context),
  })
}
