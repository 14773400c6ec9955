import { describe, expect, test } from 'vitest'
import { QueryError, runQuery } from './graph-query.ts'

const rows = [
  { name: 'a', type: 'vm', resourceGroup: 'one', tags: { 'karpenter.sh_nodepool': 'default', note: 'x | y' } },
  { name: 'b', type: 'vm', resourceGroup: 'two', tags: { 'karpenter.sh_nodepool': 'Spot', old: 'yes' } },
  { name: 'c', type: 'nic', resourceGroup: 'one', tags: null },
]
const names = (query: string) => runQuery(query, rows).map(({ name }) => name)

describe('queries', () => {
  test.each([
    ['Resources', ['a', 'b', 'c']],
    ['resources | where type == "vm"', ['a', 'b']],
    ["Resources | where type != 'vm'", ['c']],
    ['Resources | where type =~ "VM" and resourceGroup !~ "ONE"', ['b']],
    ['Resources | where type == "nic" or resourceGroup == "two"', ['b', 'c']],
    ['Resources | where type == "nic" or type == "vm" and name == "b"', ['b', 'c']],
    ['Resources | where (type == "nic" or type == "vm") and name == "b"', ['b']],
    ['Resources | where tags has_cs "karpenter.sh_nodepool"', ['a', 'b']],
    ['Resources | where tags has_cs "karpenter.sh_node"', []],
    ['Resources | where tags has "SPOT"', ['b']],
    ['Resources | where tags has_cs "SPOT"', []],
    ['Resources | where tags contains "sh_node"', ['a', 'b']],
    ['Resources | where not(tags has_cs "old") | where type == "vm"', ['a']],
    ["Resources | where tags['karpenter.sh_nodepool'] == 'default'", ['a']],
    ["Resources | where tags.note == 'x | y'", ['a']],
    ["Resources | where isnotempty(tags['old'])", ['b']],
    ['Resources | where isempty(tags)', ['c']],
    ["Resources | where name in ('a', 'c')", ['a', 'c']],
    ['Resources | order by name desc | limit 2', ['c', 'b']],
    ['Resources | sort by name asc | take 1', ['a']],
  ])('%s', (query, expected) => {
    expect(names(query)).toEqual(expected)
  })

  test('project keeps the columns that are named', () => {
    expect(runQuery('Resources | where name == "a" | project name, type', rows)).toEqual([{ name: 'a', type: 'vm' }])
  })

  test.each([
    ['Tables', 'table "Tables" is not simulated; use Resources'],
    ['Resources | summarize count()', 'operator "summarize" is not simulated'],
    ['Resources | where name ==', 'the query ends too soon'],
    ['Resources | where name == b', '"b" is no text in quotes'],
    ['Resources | where name startswith "b"', 'comparison "startswith" is not simulated'],
    ['Resources | where (name == "b"', 'the query ends too soon'],
    ['Resources | where name == "b" name', '"name" was not expected'],
    ['Resources | where name == "b" + 1', '"+ 1" could not be read'],
  ])('%s is refused', (query, message) => {
    expect(() => names(query)).toThrow(new QueryError(message))
  })
})
