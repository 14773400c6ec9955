// npm run vectors: puts golden vectors into the packs of test/vectors/golden, and takes them out for a person to read.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Command } from 'commander'
import { parse } from 'yaml'
import { crdTable, crdTableFile } from '../api/crd-digests.ts'
import type { Crd } from '../api/crd-facts.ts'
import { azureTables } from './azure-tables.ts'
import { addToPack, readVectors, vectorNames } from './packs.ts'

const program = new Command('vectors').description('Pack golden vectors, and unpack them.')

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))

program
  .command('pack')
  .description('put the JSON files of a folder into a suite; files of the same name are replaced, others are kept')
  .argument('<suite>')
  .argument('<folder>')
  .action((suite: string, folder: string) => {
    const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
    if (files.length === 0) throw new Error(`${folder}: there is no JSON file in it`)
    const entries = files.map((file) => ({ name: basename(file, '.json'), content: readJson(join(folder, file)) }))
    console.log(`${suite}: ${files.length} files packed, ${addToPack(suite, entries)} in all`)
  })

program
  .command('unpack')
  .description('write the files of a suite into a folder')
  .argument('<suite>')
  .argument('<folder>')
  .action((suite: string, folder: string) => {
    mkdirSync(folder, { recursive: true })
    for (const name of vectorNames(suite))
      writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(readVectors(`${suite}/${name}`), undefined, 2)}\n`)
    console.log(`${suite}: ${vectorNames(suite).length} files written to ${folder}`)
  })

program
  .command('azure-tables')
  .description("trim Azure's answers about sizes, prices and images to what suites need, and pack them")
  .argument('<folder>', 'with skus/REGION.json, prices*.json and images.json')
  .action((folder: string) => {
    console.log(`azure-tables: ${addToPack('azure-tables', azureTables(folder))} tables`)
  })

program
  .command('crds')
  .description('write the table of facts about upstream’s CRDs')
  .argument('<folder>', 'with the CRDs as YAML')
  .action((folder: string) => {
    const crds = readdirSync(folder).map((name) => parse(readFileSync(join(folder, name), 'utf8')) as Crd)
    const table = crdTable(crds)
    writeFileSync(crdTableFile, `${JSON.stringify(table, undefined, 1)}\n`)
    console.log(`${Object.keys(table.facts).length} facts, ${table.sentences.length} sentences`)
  })

program.parse()
