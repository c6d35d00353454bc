/** The backend for Java 22 and later, by {@code java.lang.foreign}. Applications use {@code dev.taskhold}. */
@NullMarked
package dev.taskhold.ffm;

import org.jspecify.annotations.NullMarked;
