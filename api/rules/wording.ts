// What is wrong with a value that a schema refuses, in the words of the shapes: what it is, and what to write.
import type { z } from 'zod'
import { isObject } from '../../core/values/json.ts'
import { shortened } from '../../core/values/texts.ts'
import { choice, textRemedy, valueText } from '../shapes/shape.ts'

type Issue = z.core.$ZodIssue

/** Returns the message about an issue with a value. */
export function wordingOf(issue: Issue, value: unknown): string {
  return `${isSize(issue) ? sizeText(value) : valueText(value)}; ${remedyOf(issue, value)}`
}

function remedyOf(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined ? 'add it' : typeRemedy(issue.expected, value)
    case 'invalid_value': {
      const words = issue.values.map(String)
      return value === undefined ? `add it: ${words.join(', ')}` : `use ${choice(words, value)}`
    }
    case 'too_small':
      return value === '' ? 'write one' : `use at least ${issue.minimum}`
    case 'too_big':
      return `use at most ${issue.maximum}`
    // The message of a pattern is the remedy.
    default:
      return issue.message
  }
}

const isSize = ({ code }: Issue) => code === 'too_small' || code === 'too_big'

function sizeText(value: unknown): string {
  if (value === '') return 'is empty'
  if (Array.isArray(value)) return `has ${value.length} entries`
  return typeof value === 'string' ? `has ${value.length} characters` : valueText(value)
}

const toWrite: Readonly<Record<string, string>> = {
  number: 'write a number',
  int: 'write a whole number',
  boolean: 'write true or false',
  array: 'write a list',
  object: 'write a map',
  record: 'write a map',
}

function typeRemedy(expected: string, value: unknown): string {
  if (expected === 'string') return textRemedy(value)
  if (typeof value === 'string' && isWritten(expected, value)) return `write ${value}, without quotes`
  if (expected === 'array' && typeof value === 'string') return `write a list: ["${shortened(value, 40)}"]`
  if (expected === 'array' && isObject(value)) return 'write a list: begin its entries with "- "'
  return toWrite[expected] ?? `write a value of type ${expected}`
}

/** Whether a text would be of the type without quotes. */
function isWritten(expected: string, text: string): boolean {
  if (expected === 'boolean') return text === 'true' || text === 'false'
  return (expected === 'number' || expected === 'int') && /^-?[0-9]{1,15}$/.test(text)
}
