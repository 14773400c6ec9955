import { signal } from '@preact/signals'

export type Theme = 'auto' | 'light' | 'dark'

const key = 'joiner-theme'
const kept = localStorage.getItem(key)

/** `auto`: as the system has it. */
export const theme = signal<Theme>(kept === 'light' || kept === 'dark' ? kept : 'auto')

theme.subscribe((value) => {
  document.documentElement.dataset['theme'] = value
  if (value === 'auto') localStorage.removeItem(key)
  else localStorage.setItem(key, value)
})
