// Writes what follows from other sources: from `api/` the CRDs, the chart's admission warnings, its rights and the roles at Azure, with their tables in `docs/`;
// from `boards/` and `alerts/` the chart's boards and alerts; from the chart's schema the documentation of its values. With `--check` it only compares.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { phaseMeanings } from '../core/node-claim/phase.ts'
import { rulesText } from './alerts/alerts.ts'
import { dashboardFiles } from './boards/boards.ts'
import { admissionPolicyTemplate } from './generate-admission-policy.ts'
import { roleFiles, roleTable } from './generate-azure-roles.ts'
import { crdFiles } from './generate-crds.ts'
import { rightsTable, rightsTemplate } from './generate-rights.ts'
import { valuesPage } from './generate-values.ts'
import { alignedTable, withTable } from './marked-table.ts'

const here = dirname(fileURLToPath(import.meta.url))
const rightsPage = '../docs/rights.md'
const accessPage = '../docs/azure-access.md'
const nodesPage = '../docs/nodes.md'

function main(): void {
  const files = new Map([
    ...crdFiles(),
    ['chart/templates/admission-policy.yaml', admissionPolicyTemplate()],
    ['chart/templates/rights.yaml', rightsTemplate()],
    ...roleFiles(),
    ...dashboardFiles(),
    ['chart/rules.yaml', rulesText()],
    ['../docs/values.md', valuesPage(readText('chart/values.schema.json'), readText('chart/values.yaml'))],
    [rightsPage, page(rightsPage, 'rights', rightsTable())],
    [accessPage, page(accessPage, 'roles', roleTable())],
    [nodesPage, page(nodesPage, 'phases', alignedTable(['Phase', 'What happens'], Object.entries(phaseMeanings)))],
  ])
  const differing: string[] = []
  for (const [name, text] of files) {
    const path = join(here, name)
    if (process.argv.includes('--check')) {
      if (read(path) !== text) differing.push(path)
    } else {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }
  if (differing.length === 0) return
  console.error(`not what the sources say; run "npm run generate":\n${differing.join('\n')}`)
  process.exitCode = 1
}

function readText(name: string): string {
  return readFileSync(join(here, name), 'utf8')
}

function page(name: string, mark: string, table: string): string {
  return withTable(readText(name), { name: name.slice(3), mark }, table)
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

main()
