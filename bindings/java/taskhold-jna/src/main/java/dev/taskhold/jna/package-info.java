/** The backend for Java 17 and later, by JNA. Applications use {@code dev.taskhold}. */
@NullMarked
package dev.taskhold.jna;

import org.jspecify.annotations.NullMarked;
