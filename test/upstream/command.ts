// Writes docs/upstream-tests.md.
import { writeFileSync } from 'node:fs'
import { pagePath, stored } from './files.ts'
import { pageOf } from './page.ts'

const { areas, mappings } = stored()
writeFileSync(pagePath, pageOf(areas, mappings))
