/**
 * Before the long tests: the server as a release starts it. They start it some hundreds of times, and from its bundle it is
 * ready for half of what it takes from the sources.
 */
import { buildServer } from '../../scripts/build-server.ts'

export default (): Promise<void> => buildServer()
