/** The tests of the mappings. */
@NullMarked
package dev.taskhold.jackson;

import org.jspecify.annotations.NullMarked;
