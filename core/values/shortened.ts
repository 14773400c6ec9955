const longest = 100

/** Returns the text as a message shows it: whole, or its beginning when it is longer than 100 characters. */
export function shortened(text: string): string {
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text
}
