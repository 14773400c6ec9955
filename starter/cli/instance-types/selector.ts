import type { RequirementOperator, RequirementSpec } from '../../../core/objects.ts'
import { labelValueErrors, qualifiedNameErrors } from '../../../core/requirements/label-syntax.ts'
import { InputError } from '../../document/reported-error.ts'

const words: Readonly<Record<string, RequirementOperator>> = {
  in: 'In',
  notin: 'NotIn',
  exists: 'Exists',
  '!exists': 'DoesNotExist',
  gt: 'Gt',
  lt: 'Lt',
  gte: 'Gte',
  lte: 'Lte',
}
const signs: Readonly<Record<string, RequirementOperator>> = {
  '=': 'In',
  '==': 'In',
  '!=': 'NotIn',
  '>': 'Gt',
  '<': 'Lt',
  '>=': 'Gte',
  '<=': 'Lte',
}

/** The expressions below take a time that grows with the square of the length. */
const longest = 10_000

const grammar =
  'write KEY in (A,B), KEY notin (A,B), KEY=A, KEY!=A, KEY, !KEY, KEY > 4, KEY < 4, KEY >= 4 or KEY <= 4, with commas between them'

/**
 * Requirements as kubectl's label selectors write them, and with the comparisons that NodePools know:
 * `karpenter.azure.com/sku-family in (D,E), karpenter.azure.com/sku-cpu > 4, !karpenter.azure.com/sku-gpu-name`.
 * Errors: InputError.
 */
export function parseSelector(text: string): readonly RequirementSpec[] {
  if (text.length > longest)
    throw new InputError(
      `requirements: ${text.length} characters are more than the ${longest} that are read; write fewer`,
    )
  const terms = splitTerms(text)
  if (terms.length === 0) throw new InputError(`requirements "${text}": are empty; ${grammar}`)
  return terms.map((term) => checked(term, parseTerm(term)))
}

/** Commas within parentheses part values, the others part terms. */
function splitTerms(text: string): readonly string[] {
  return text
    .split(/,(?![^()]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '')
}

function parseTerm(term: string): RequirementSpec {
  const absent = /^!\s*(\S+)$/.exec(term)
  if (absent !== null) return { key: absent[1] ?? '', operator: 'DoesNotExist', values: [] }
  const listed = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/i.exec(term)
  if (listed !== null) {
    const [, key = '', word = '', values = ''] = listed
    return { key, operator: words[word.toLowerCase()] ?? 'In', values: values.split(',').map((value) => value.trim()) }
  }
  const asked = /^(\S+)\s+(exists|!exists)$/i.exec(term)
  if (asked !== null)
    return { key: asked[1] ?? '', operator: words[asked[2]?.toLowerCase() ?? ''] ?? 'Exists', values: [] }
  const compared = /^([^\s=!<>]+)\s*(?:(==|=|!=|>=|<=|>|<)|\s(gte|lte|gt|lt)\s)\s*([^\s=!<>()]*)$/i.exec(term)
  if (compared !== null) {
    const [, key = '', sign, word = '', value = ''] = compared
    const operator = sign === undefined ? words[word.toLowerCase()] : signs[sign]
    return { key, operator: operator ?? 'In', values: [value] }
  }
  if (/^[^\s=!<>()]+$/.test(term)) return { key: term, operator: 'Exists', values: [] }
  throw new InputError(`requirement "${term}": is not understood; ${grammar}`)
}

function checked(term: string, requirement: RequirementSpec): RequirementSpec {
  const [error] = qualifiedNameErrors(requirement.key)
  if (error !== undefined) throw new InputError(`requirement "${term}": "${requirement.key}" is not a label: ${error}`)
  for (const value of requirement.values ?? []) {
    const [problem] = labelValueErrors(value)
    if (problem !== undefined) throw new InputError(`requirement "${term}": "${value}" is not a value: ${problem}`)
    if (/^[GL]te?$/.test(requirement.operator) && !/^\d+$/.test(value))
      throw new InputError(`requirement "${term}": "${value}" is not a whole number, and nothing else can be compared`)
  }
  return requirement
}
