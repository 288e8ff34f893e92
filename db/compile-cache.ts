/** Compiled code is kept between starts, for every thread that asks for it: threads do not inherit it. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Before what is to be kept is loaded. In a folder of this installation, not in the shared temporary one, where others could plant code. */
export function keepCompiledCode(): void {
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/svc-compiled', import.meta.url)))
}
