// Removes what a command with real nodes leaves, however the command ends, kill -9 included: its standard input is a pipe from the command, which closes then.
import { once } from 'node:events'
import { removeCgroups } from './cgroups.ts'
import { removeCables } from './machine.ts'

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.stdin.resume()
await once(process.stdin, 'end')
await removeCgroups()
await removeCables()
