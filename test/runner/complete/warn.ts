// A part of npm run check: warns when the last complete run is long ago.
import { ageWarning } from './age.ts'
import { recordedCommit } from './record.ts'

const warning = ageWarning(recordedCommit())
if (warning !== undefined) console.warn(warning)
